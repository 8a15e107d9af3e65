-- Forgets the answer that is kept for repeats of the request that made a deleted execution or session
-- (src/http/idempotency): the request's seed is their id. The row stays, so that a repeat is told of the deletion and makes
-- nothing. A request that still runs loses its hold, so that it cannot keep an answer afterwards.
create or replace function forget_kept_answer() returns trigger
  language plpgsql
as $$
begin
  update idempotent_requests set answered = true, sealed_answer = null, holder = null, held_until = null
    where tenant_id = old.tenant_id and seed = old.id;
  return null;
end
$$;

-- Answers are kept for a day from the request on, and retention deletes many that are older.
create or replace trigger forget_kept_answer after delete on executions
  for each row when (old.created_at > now() - interval '2 days') execute function forget_kept_answer();
create or replace trigger forget_kept_answer after delete on sessions
  for each row when (old.created_at > now() - interval '2 days') execute function forget_kept_answer();
