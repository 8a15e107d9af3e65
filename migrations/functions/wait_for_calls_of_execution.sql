-- Waits for calls of an execution that are being recorded (src/models/usage). Later ones have no previews while this
-- transaction runs. Without it a call and the erasure of its execution do not see each other before they are committed,
-- and the previews stay.
create or replace function wait_for_calls_of_execution(execution uuid) returns void
  language sql
as $$
  select pg_advisory_xact_lock(hashtextextended('calls of ' || execution, 0))
$$;
