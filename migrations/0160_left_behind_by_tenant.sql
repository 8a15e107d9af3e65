-- What a lost node left behind is looked for tenant by tenant, not by age alone: behind the thousands of one tenant, a
-- few of another would else wait until all of those are through.
drop index trigger_inbox_due;
create index trigger_inbox_due on trigger_inbox (tenant_id, due_at) where state = 'running';
drop index deliveries_due;
create index deliveries_due on deliveries (tenant_id, due_at) where status = 'pending';
