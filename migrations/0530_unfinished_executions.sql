-- Which sessions have turns that have not ended (src/conversations/sessions). Attachments of messages that wait in them are
-- kept. The other index of unfinished turns begins with their slots.
create index executions_unfinished_of_session on executions (tenant_id, session_id) where outcome is null;
create view unfinished_executions with (security_invoker = true) as
  select tenant_id, session_id, id from executions where outcome is null;
grant select on unfinished_executions to troupe_app;
