// What PostgreSQL's catalogue says of the tables of Troupe.
import { BackupError } from './errors.js';
import type { PartitionEntry } from './manifest.js';
import type { OwnerSession } from './session.js';

export interface Table {
  readonly name: string;
  /** Without generated columns, which the database computes. */
  readonly columns: readonly string[];
  /** Columns that a sequence fills. */
  readonly numbered: readonly string[];
  readonly isSecured: boolean;
  /** Whether the role of backups sees its rows. */
  readonly isReadable: boolean;
}

/** The files that a database has had are compared, not copied. */
const recordTables = ['schema_migrations', 'schema_functions'];

/** The tables that belong to the owner of `schema_migrations`. A partition is a part of its table. */
export function readTables(session: OwnerSession): Promise<readonly Table[]> {
  return session.rows<Table & Record<string, unknown>>(
    `select c.relname as name, c.relrowsecurity as "isSecured",
       array(select attname::text from pg_attribute a where a.attrelid = c.oid and a.attnum > 0
         and not a.attisdropped and a.attgenerated = '' order by a.attnum) as columns,
       array(select attname::text from pg_attribute a where a.attrelid = c.oid and a.attnum > 0
         and not a.attisdropped and pg_get_serial_sequence(c.oid::regclass::text, a.attname) is not null) as numbered,
       has_table_privilege('troupe_backup', c.oid, 'select') and (not c.relrowsecurity
         or exists (select from pg_policy p where p.polrelid = c.oid and p.polname = 'backup')) as "isReadable"
     from pg_class c
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and c.relowner = (select relowner from pg_class where oid = to_regclass('public.schema_migrations'))
       and c.relname <> all ($1)
     order by c.relname`,
    [recordTables],
  );
}

const rangeBound = /^FOR VALUES FROM \('([^']+)'\) TO \('([^']+)'\)$/;

/** The partitions by time; every migrated database has the default ones. */
export async function readPartitions(session: OwnerSession): Promise<readonly PartitionEntry[]> {
  const rows = await session.rows<{ name: string; parent: string; bound: string }>(
    `select c.relname as name, p.relname as parent, pg_get_expr(c.relpartbound, c.oid) as bound
     from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
     where c.relispartition and c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace order by 1`,
  );
  return rows
    .filter(({ bound }) => bound !== 'DEFAULT')
    .map(({ name, parent, bound }) => {
      const [, from, to] = rangeBound.exec(bound) ?? [];
      if (from !== undefined && to !== undefined) return { name, parent, from, to };
      throw new BackupError(
        'incomplete',
        `the partition ${name} has bounds that a backup cannot keep: ${bound}.`,
      );
    });
}

export interface ForeignKey {
  readonly table: string;
  readonly name: string;
  readonly definition: string;
}

export function readForeignKeys(session: OwnerSession): Promise<readonly ForeignKey[]> {
  return session.rows<ForeignKey & Record<string, unknown>>(
    `select c.relname as table, k.conname as name, pg_get_constraintdef(k.oid) as definition
     from pg_constraint k join pg_class c on c.oid = k.conrelid
     where k.contype = 'f' and k.conparentid = 0 and c.relnamespace = 'public'::regnamespace order by 1, 2`,
  );
}
