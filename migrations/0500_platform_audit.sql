-- Entries of the platform (src/tenancy/audit) are kept for 400 days. forget_platform_audit deletes older ones as the owner.
create policy owner on platform_audit_entries to current_user
  using (recorded_at < now() - interval '1 day');
