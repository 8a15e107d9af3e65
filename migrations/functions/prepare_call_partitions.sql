-- Creates the partitions of `calls` for the month of `moment` and the next three (src/models/usage). Nodes call it at
-- start and then daily; a row of a month without a partition goes to the default partition. Concurrent calls wait for
-- each other.
create or replace function prepare_call_partitions(moment timestamptz) returns void
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  month timestamptz;
  partition text;
begin
  perform pg_advisory_xact_lock(hashtext('prepare_call_partitions'));
  for month in
    select m at time zone 'UTC'
    from generate_series(date_trunc('month', moment at time zone 'UTC'),
      date_trunc('month', moment at time zone 'UTC') + interval '3 months', interval '1 month') m
  loop
    partition := 'calls_' || to_char(month at time zone 'UTC', 'YYYY_MM');
    continue when to_regclass(partition) is not null;
    begin
      execute format('create table %I partition of calls for values from (%L) to (%L)',
        partition, month, (month at time zone 'UTC' + interval '1 month') at time zone 'UTC');
    exception when check_violation then
      -- The default partition has rows of that month already; the month stays there.
      continue;
    end;
    execute format('alter table %I enable row level security', partition);
    execute format('alter table %I force row level security', partition);
  end loop;
end
$$;
revoke execute on function prepare_call_partitions(timestamptz) from public;
grant execute on function prepare_call_partitions(timestamptz) to troupe_directory;

-- A new database has its partitions before the first node starts.
select prepare_call_partitions(now());
