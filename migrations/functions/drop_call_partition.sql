-- Drops the partition of a month that ended two days ago or earlier (src/models/usage), in the transaction that holds
-- `calls` and has seen that nobody keeps a row of it. At once instead of detached first: `detach concurrently` is refused
-- beside a default partition, and a detached table would get foreign keys of its own, which lock `tenants`. False if the partition
-- is in use.
create or replace function drop_call_partition(month date) returns boolean
  language plpgsql security definer set search_path = public, pg_temp
as $$
begin
  if month <> date_trunc('month', month) or (month + interval '1 month') at time zone 'UTC' > now() - interval '48 hours' then
    raise exception 'the month % is not over', month;
  end if;
  -- A vacuum of the partition may hold it.
  execute format('drop table %I', 'calls_' || to_char(month, 'YYYY_MM'));
  return true;
exception when lock_not_available then
  return false;
end
$$;
revoke execute on function drop_call_partition(date) from public;
grant execute on function drop_call_partition(date) to troupe_directory;
