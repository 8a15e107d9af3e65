-- Locks `calls` for the drop of the partition of a month (src/models/usage), until the end of the transaction. False if
-- another process is at it, if a reader or writer is not done within a quarter of a second (all others wait for that long),
-- or if there is no such partition any more.
create or replace function hold_call_partition(month date) returns boolean
  language plpgsql security definer set search_path = public, pg_temp
as $$
begin
  if not pg_try_advisory_xact_lock(hashtext('prepare_call_partitions')) then
    return false;
  end if;
  perform set_config('lock_timeout', '250ms', true);
  lock table only calls in access exclusive mode;
  return exists (
    select from pg_catalog.pg_inherits
    where inhparent = 'calls'::regclass and inhrelid = to_regclass('calls_' || to_char(month, 'YYYY_MM')));
exception when lock_not_available then
  return false;
end
$$;
revoke execute on function hold_call_partition(date) from public;
grant execute on function hold_call_partition(date) to troupe_directory;
