-- Adds one to the invitation mails of an address on a day and returns the count (src/tenancy/identity). Locks the count until
-- the transaction ends. A definer's function: a tenant's transaction counts, and can neither lower the count nor list
-- addresses.
create or replace function count_invitation_mail(address bytea, on_day date) returns int
  language sql security definer set search_path = pg_catalog, public, pg_temp
as $$
  insert into public.invitation_mails_by_address as counted (subject, day, sent)
  values (count_invitation_mail.address, count_invitation_mail.on_day, 1)
  on conflict (subject, day) do update set sent = counted.sent + 1
  returning counted.sent
$$;
revoke execute on function count_invitation_mail from public;
grant execute on function count_invitation_mail to troupe_app;
