-- Messages on their way to a session (src/automation/inbox), published for sessions, which are not erased as old while one
-- is. Each half has its partial index.
create view awaited_messages with (security_invoker = true) as
  select tenant_id, session_id from trigger_inbox where state = 'buffered'
  union all
  select tenant_id, session_id from trigger_inbox where state = 'running';
grant select on awaited_messages to troupe_app;
