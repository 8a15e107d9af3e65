-- Blanks the previews of a call that is recorded after its execution, or a part of its transcript, was erased (src/models/usage).
create or replace function blank_previews_of_erased() returns trigger
  language plpgsql
as $$
begin
  -- An erasure that is not committed yet holds the lock (wait_for_calls_of_execution). The call does not wait for it: a batch
  -- books calls of many tenants. If that erasure fails, the call has lost its previews and nothing else.
  if not pg_try_advisory_xact_lock_shared(hashtextextended('calls of ' || new.execution_id, 0))
    or exists (select from executions_without_previews e where e.tenant_id = new.tenant_id and e.id = new.execution_id)
  then
    new.input_preview := '';
    new.output_preview := '';
  end if;
  return new;
end
$$;

create or replace trigger blank_previews_of_erased before insert on calls
  for each row when (new.execution_id is not null) execute function blank_previews_of_erased();
