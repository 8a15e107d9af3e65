-- Marks inbox messages of many tenants as done (src/automation/inbox), in the transaction that ends them. `kept` is the
-- response for repeats of the message; rows without a key have no message. Rows are locked in the order of their keys, as
-- every batch does.
create or replace function mark_messages_done(tenants uuid[], triggers uuid[], keys text[], kept jsonb[]) returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  -- The state is compared in a form that no partial index answers.
  update trigger_inbox i set state = 'done', answer = coalesce(g.kept, i.answer)
  from (
    select * from unnest(tenants, triggers, keys, kept) as given (tenant_id, trigger_id, key, kept)
    where given.key is not null order by given.tenant_id, given.trigger_id, given.key
  ) as g
  where i.tenant_id = g.tenant_id and i.trigger_id = g.trigger_id and i.key = g.key
    and coalesce(i.state, '') = 'running';
end $$;
