-- Records the consumers of turns (src/conversations/consumers), in the turns' transaction. `touches` is a list of
-- {tenant_id, consumer_key, display_name, declared, channel, at}. A repeated call changes nothing more. Rows are locked
-- in the order of their keys, so that batches do not deadlock, and a row is written only when it would change.
create or replace function touch_consumers(touches jsonb) returns void
  language sql
as $$
  with told as (
    select * from rows from (
      jsonb_to_recordset(touches) as (
        tenant_id uuid, consumer_key text, display_name text, declared boolean, channel text, at timestamptz)
    ) with ordinality as t (tenant_id, consumer_key, display_name, declared, channel, at, place)
  ),
  seen as (
    select tenant_id, consumer_key,
      (array_agg(display_name order by place desc) filter (where declared and display_name is not null))[1]
        as declared_name,
      (array_agg(display_name order by place) filter (where display_name is not null))[1] as any_name,
      array_agg(distinct channel) as channels,
      min(at) as first_at,
      max(at) as last_at
    from told
    group by tenant_id, consumer_key
  )
  insert into consumers as c
    (tenant_id, consumer_key, display_name, name_source, channels, first_seen, last_seen, latest_at)
  select s.tenant_id, s.consumer_key, coalesce(s.declared_name, s.any_name),
    case when s.declared_name is not null then 'declared' when s.any_name is not null then 'inferred' end,
    s.channels, s.first_at, s.last_at, s.last_at
  from seen s
  left join consumers k on k.tenant_id = s.tenant_id and k.consumer_key = s.consumer_key
  where k.tenant_id is null
    or k.last_seen is null
    or k.last_seen < s.last_at - interval '1 minute'
    or k.first_seen > s.first_at
    or not k.channels @> s.channels
    or (s.declared_name is not null and (k.display_name, k.name_source) is distinct from (s.declared_name, 'declared'))
    or (k.display_name is null and s.any_name is not null)
  order by s.tenant_id, s.consumer_key
  on conflict (tenant_id, consumer_key) do update set
    display_name = case when excluded.name_source = 'declared' then excluded.display_name
      else coalesce(c.display_name, excluded.display_name) end,
    name_source = case when excluded.name_source = 'declared' then 'declared'
      else coalesce(c.name_source, excluded.name_source) end,
    channels = array(select distinct unnest(c.channels || excluded.channels) order by 1),
    first_seen = least(c.first_seen, excluded.first_seen),
    last_seen = greatest(c.last_seen, excluded.last_seen),
    latest_at = greatest(c.latest_at, excluded.latest_at)
$$;
revoke execute on function touch_consumers from public;
grant execute on function touch_consumers to troupe_app, troupe_writer;
