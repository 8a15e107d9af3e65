-- A tenant reads its own errors, filtered by agent and trigger (src/infra/diagnostics).
alter table recent_errors add column about_agent uuid;
alter table recent_errors add column about_trigger uuid;

-- The page of a tenant, and the oldest rows that it keeps.
create index recent_errors_of_tenant on recent_errors (about_tenant, occurred_at desc, id desc)
  where about_tenant is not null;
-- Rows of no tenant are removed by number, all rows by age; the operator reads the newest of all.
create index recent_errors_of_none on recent_errors (number) where about_tenant is null;
create index recent_errors_by_time on recent_errors (occurred_at desc, number desc);
