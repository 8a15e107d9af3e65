-- What triggers leave behind is kept for a while and no longer; every node removes what is over, in small batches.
create index deliveries_finished on deliveries (finished_at) where finished_at is not null;
create index trigger_mails_age on trigger_mails (created_at);
create index trigger_replies_age on trigger_replies (updated_at);

-- Whoever removes can remove nothing younger, whatever he asks for.
grant select, delete on deliveries, trigger_mails, trigger_replies to troupe_directory;
create policy forget on deliveries for delete to troupe_directory using (finished_at < now() - interval '30 days');
create policy forget on trigger_mails to troupe_directory using (created_at < now() - interval '365 days');
create policy forget on trigger_replies for delete to troupe_directory
  using (updated_at < now() - interval '365 days');

-- Rows that are sealed under a former master key are sealed anew, across tenants.
grant update (sealed) on deliveries, trigger_replies to troupe_directory;
create policy reseal_read on deliveries for select to troupe_directory using (true);
create policy reseal on deliveries for update to troupe_directory using (true) with check (true);
create policy reseal_read on trigger_replies for select to troupe_directory using (true);
create policy reseal on trigger_replies for update to troupe_directory using (true) with check (true);
