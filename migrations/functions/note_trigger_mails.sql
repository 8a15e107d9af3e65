-- Records mails that triggers sent (src/automation/messages), in the transaction that puts them into the outbox. Rows
-- without a message id are no mails. A plpgsql function, whose plan is kept.
create or replace function note_trigger_mails(tenants uuid[], triggers uuid[], message_ids text[], threads text[])
returns void language plpgsql as $$
begin
  insert into trigger_mails (tenant_id, trigger_id, message_id, thread)
  select tenant_id, trigger_id, message_id, thread
  from unnest(tenants, triggers, message_ids, threads) as g (tenant_id, trigger_id, message_id, thread)
  where message_id is not null order by tenant_id, trigger_id, message_id
  on conflict do nothing;
end $$;
