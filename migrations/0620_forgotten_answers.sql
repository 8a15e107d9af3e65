-- An answer that is kept for repeats is forgotten with the turn or the session that it tells of (src/http/idempotency): the
-- function forget_kept_answer() does it in the commit that deletes them, which session actors share as troupe_writer.
grant select, update on idempotent_requests to troupe_writer;
create policy writer on idempotent_requests to troupe_writer using (true) with check (true);
