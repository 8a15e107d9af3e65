-- Records many changes as record_change() does (src/infra/storage), and returns the number of the last; null for none. The
-- counter's row is updated once: each update makes another version of it, which the next would have to pass, so that n
-- calls of record_change() in one transaction cost n².
create or replace function record_changes(topics text[], about_tenants uuid[], subjects text[]) returns bigint
  language plpgsql security definer set search_path = pg_catalog, public, pg_temp
as $$
declare
  how_many constant bigint := cardinality(subjects);
  last bigint;
begin
  if how_many = 0 then
    return null;
  end if;
  update public.change_counter set last_number = last_number + how_many returning last_number into last;
  insert into public.changes (number, topic, about_tenant, subject)
    select last - how_many + change.position, change.topic, change.about_tenant, change.subject
    from unnest(topics, about_tenants, subjects) with ordinality as change (topic, about_tenant, subject, position)
    order by change.position;
  perform pg_notify('troupe_changes', last::text);
  return last;
end
$$;
revoke execute on function record_changes from public;
grant execute on function record_changes to troupe_app, troupe_directory, troupe_writer;
