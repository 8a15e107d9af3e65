-- Records a change to what nodes cache and returns its number (src/infra/storage). The counter's row stays locked until
-- the caller commits: numbers become visible in order, and an aborted caller leaves no gap. The commit sends the
-- notice, which is only a hint.
create or replace function record_change(topic text, about_tenant uuid, subject text) returns bigint
  language plpgsql security definer set search_path = pg_catalog, public, pg_temp
as $$
declare
  next_number bigint;
begin
  update public.change_counter set last_number = last_number + 1 returning last_number into next_number;
  insert into public.changes (number, topic, about_tenant, subject)
    values (next_number, record_change.topic, record_change.about_tenant, record_change.subject);
  perform pg_notify('troupe_changes', next_number::text);
  return next_number;
end
$$;
revoke execute on function record_change from public;
grant execute on function record_change to troupe_app, troupe_directory, troupe_writer;
