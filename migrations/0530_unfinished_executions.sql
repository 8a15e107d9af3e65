-- Which sessions have turns that have not ended (src/conversations/sessions). Attachments of messages that wait in them are
-- kept. The index of executions by session serves it.
create view unfinished_executions with (security_invoker = true) as
  select tenant_id, session_id, id from executions where outcome is null;
grant select on unfinished_executions to troupe_app;
