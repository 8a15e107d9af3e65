/** Tables with more rows keep PostgreSQL's estimate. */
export const countedMax = 10_000;

/** Tables, partitioned and foreign tables, views and materialized views; no system tables. */
const visible = `
  c.relkind in ('r', 'p', 'f', 'v', 'm') and n.nspname <> 'information_schema' and n.nspname !~ '^pg_'
  and ($1::text[] is null or exists (
    select from unnest($1::text[], $2::text[]) as allowed (schema, name)
    where allowed.schema = n.nspname and allowed.name = c.relname))`;

/** PostgreSQL's estimate of a table's size, which needs no count and is about as good as its planner's. */
const remembered = (table: string): string =>
  `case when ${table}.reltuples > 0 then ${table}.reltuples else pg_stat_get_live_tuples(${table}.oid) end`;

export const columnsStatement = `
  select n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
    case when a.attnotnull then 'not null' else 'null' end
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  left join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  where ${visible}
  order by n.nspname, c.relname, a.attnum
  limit $3::int`;

/** A partitioned table stores no rows itself; its size is that of its partitions. */
export const tablesStatement = `
  select n.nspname, c.relname, case when c.relkind in ('v', 'm') then 'view' else 'table' end,
    case c.relkind
      when 'v' then 0
      when 'p' then (
        with recursive part (id) as (
          select i.inhrelid from pg_catalog.pg_inherits i where i.inhparent = c.oid
          union all
          select i.inhrelid from part join pg_catalog.pg_inherits i on i.inhparent = part.id)
        select coalesce(sum(${remembered('leaf')}), 0)
        from part join pg_catalog.pg_class leaf on leaf.oid = part.id and leaf.relkind <> 'p')
      else ${remembered('c')}
    end::numeric::bigint
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where ${visible}
  order by n.nspname, c.relname
  limit $3::int`;

/** A readable table to try, if there is one. */
export const firstTableStatement = `
  select n.nspname, c.relname
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where ${visible}
  order by has_table_privilege(c.oid, 'select') and has_schema_privilege(n.oid, 'usage') desc, n.nspname, c.relname
  limit $3::int`;

/**
 * Ordinary tables that this user may read and that seem small; PostgreSQL's two estimates may both be old. What row
 * security hides is not counted, and its conditions may be slow.
 */
export const countableStatement = `
  select n.nspname, c.relname
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where ${visible} and c.relkind = 'r'
    and least(c.reltuples, pg_stat_get_live_tuples(c.oid)) <= ${countedMax}
    and has_table_privilege(c.oid, 'select') and has_schema_privilege(n.oid, 'usage')
    and not row_security_active(c.oid)
  order by n.nspname, c.relname
  limit $3::int`;
