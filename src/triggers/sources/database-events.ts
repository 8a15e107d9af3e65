import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Time } from '../../../cluster/index.js';
import type { TenantScope } from '../../context/tenant-scope.js';
import { DatabaseError, type DatabaseReader, type Databases, type TextRow } from '../../databases/index.js';
import { invalidField, PlatformError } from '../../errors.js';
import type { Store } from '../../storage/index.js';
import type { DatabaseEventConfig } from '../config/source-configs.js';
import type { Item } from '../inbox/runner.js';
import type { WorkSeal } from '../inbox/work.js';
import type { LiveTriggers } from '../live-triggers.js';
import { fillText } from '../templates.js';
import {
  birthColumn,
  birthOf,
  type Births,
  type FoundRow,
  highestOf,
  keyColumns,
  keyOfRow,
  rowsFrom,
  tableOf,
} from './database-rows.js';
import { putIntoInbox } from './found-work.js';
import { moveOn, noteSeen, type SourceRow, takeDue } from './sources.store.js';

/** A row with a lower cursor may be committed later than one with a higher: so far back every sweep looks again. */
const stretchMs = 5 * 60_000;
const sweepEveryMs = 10_000;
const rowsMax = 500;
const rowsMostMax = 10_000;
/** Rows are remembered for longer than they can be read again. */
const keepMs = 24 * 3_600_000;
const holdMs = 60_000;

const eventState = z.object({
  /** What the table is looked at for; other settings begin anew. */
  about: z.string().optional(),
  /** The highest when the trigger began; what lies at it or below is no news. Null: the table was empty. */
  floor: z.string().nullable().optional(),
  cursor: z.string().nullable().optional(),
  /** Where the cursor stood at earlier times, the oldest one still needed first. */
  marks: z.array(z.object({ at: z.number(), cursor: z.string().nullable() })).optional(),
  swept_ms: z.number().optional(),
  /** Where new rows are left out: the highest value by which they are known, at the look before. */
  born: z.string().nullable().optional(),
});
type EventState = z.output<typeof eventState>;

export interface DatabaseEventsParts {
  readonly store: Store;
  readonly live: LiveTriggers;
  readonly seal: WorkSeal;
  readonly databases: Pick<Databases, 'connect'>;
  readonly time: Time;
  /** A notification came: look before it is time. */
  readonly wake: (scope: TenantScope, triggerId: string) => void;
  readonly report: (attempted: string, error: unknown) => void;
}

interface Open {
  readonly about: string;
  readonly reader: DatabaseReader;
  readonly keys: readonly string[];
  readonly birth: string | undefined;
}

/**
 * New and changed rows of tenants' tables, found by looking. A look reads from the cursor on and, every now and then, a
 * stretch behind it; each row becomes a row of the inbox under a key of its own, in the transaction that moves the
 * cursor. So a row runs once, whoever dies in between.
 */
export class DatabaseEvents {
  readonly #parts: DatabaseEventsParts;
  readonly #open = new Map<string, Promise<Open>>();

  constructor(parts: DatabaseEventsParts) {
    this.#parts = parts;
  }

  /** Where a trigger begins: after all that is there now. Empty where the database cannot be asked yet. */
  async beginning(scope: TenantScope, config: DatabaseEventConfig): Promise<object> {
    let reader: DatabaseReader | undefined;
    try {
      reader = await this.#parts.databases.connect(scope, config.database_config_id);
      if (!reader.allows(tableOf(config))) {
        throw invalidField('trigger_config.table', 'is not among the allowed tables of the database');
      }
      const birth = await birthColumn(reader, config, await keyColumns(reader, config));
      return await begun(reader, config, birth);
    } catch (error) {
      // Away just now: the first look that reaches it finds out where to begin.
      if (error instanceof DatabaseError && error.sqlState === undefined) return {};
      throw refusalOf(error) ?? error;
    } finally {
      await reader?.close();
    }
  }

  /** Looks once, where it is due and nobody else looks. */
  async look(
    scope: TenantScope,
    triggerId: string,
    early: boolean,
  ): Promise<{ readonly items: readonly Item[]; readonly againInMs?: number | undefined }> {
    const { store, live } = this.#parts;
    const trigger = await live.get(triggerId);
    if (trigger?.parsed.type !== 'db_event' || !trigger.enabled) {
      this.#close(triggerId);
      return { items: [] };
    }
    const { config } = trigger.parsed;
    const source = await store.inTenant(scope, (tx) => takeDue(scope, tx, triggerId, holdMs, early));
    if (source === null) return { items: [] };
    try {
      const open = await this.#openFor(scope, triggerId, config);
      const items = await this.#read(scope, triggerId, config, open, source);
      // A little later than due, so that it is due by the store's clock too.
      return { items, againInMs: config.poll_ms + 10 };
    } catch (error) {
      this.#close(triggerId);
      throw error;
    }
  }

  async stop(): Promise<void> {
    const open = [...this.#open.values()];
    this.#open.clear();
    // One that could not be opened has said so to whoever opened it.
    await Promise.all(open.map((one) => one.then(({ reader }) => reader.close()).catch(() => undefined)));
  }

  async #read(
    scope: TenantScope,
    triggerId: string,
    config: DatabaseEventConfig,
    { reader, keys, birth }: Open,
    source: SourceRow,
  ): Promise<readonly Item[]> {
    const { store, seal } = this.#parts;
    const nowMs = source.now.getTime();
    const before = await this.#stateOf(reader, config, source, birth);
    const births = birth === undefined ? undefined : { column: birth, before: before.born ?? null };
    // Before the rows: one that comes in between is new by this look, and noted as such for the next.
    const born = birth === undefined ? undefined : await highestOf(reader, config, birth);
    const sweeps = nowMs - (before.swept_ms ?? 0) >= sweepEveryMs;
    const from = sweeps ? behindStretch(before, nowMs) : (before.cursor ?? null);
    const { rows, more } = await this.#rowsFrom(reader, config, {
      floor: before.floor ?? null,
      from,
      births,
    });
    const last = rows.at(-1)?.row[config.cursor_column] ?? null;
    const cursor = sweeps && rows.length === 0 ? (before.cursor ?? null) : (last ?? before.cursor ?? null);
    const state = stateAfter({ ...before, cursor, born }, nowMs, sweeps && !more);
    return store.inTenant(scope, async (tx) => {
      const dueAt = new Date(nowMs + (more ? 0 : config.poll_ms));
      if (!(await moveOn(scope, tx, triggerId, { before: source.state, state, dueAt }))) return [];
      const items: Item[] = [];
      for (const { row, isNew } of rows) {
        const key = keyOfRow(row, keys, config);
        // One that came between the two questions of the last look still seems new; what it shows now is a change.
        const birth = { triggerId, key: birthOf(row, keys, config), keepMs };
        if (isNew && (await noteSeen(scope, tx, birth))) {
          await noteSeen(scope, tx, { triggerId, key, keepMs });
          continue;
        }
        const item = await putIntoInbox(scope, tx, seal, {
          triggerId,
          key,
          sessionId: randomUUID(),
          work: { message: messageOf(config, row), context: {} },
          keepMs,
        });
        if (item !== undefined) items.push(item);
      }
      return items;
    });
  }

  /** More than usual where so many rows share one cursor that the next look would read the same again. */
  async #rowsFrom(
    reader: DatabaseReader,
    config: DatabaseEventConfig,
    place: {
      readonly floor: string | null;
      readonly from: string | null;
      readonly births: Births | undefined;
    },
  ): Promise<{ readonly rows: readonly FoundRow[]; readonly more: boolean }> {
    const read = await rowsFrom(reader, config, place, rowsMax);
    const isStuck = read.more && read.rows.at(-1)?.row[config.cursor_column] === place.from;
    return isStuck ? rowsFrom(reader, config, place, rowsMostMax) : read;
  }

  async #stateOf(
    reader: DatabaseReader,
    config: DatabaseEventConfig,
    source: SourceRow,
    birth: string | undefined,
  ): Promise<EventState> {
    const state = eventState.parse(source.state);
    if (state.about !== aboutOf(config)) return begun(reader, config, birth);
    if (birth === undefined || state.born !== undefined) return state;
    return { ...state, born: await highestOf(reader, config, birth) };
  }

  #openFor(scope: TenantScope, triggerId: string, config: DatabaseEventConfig): Promise<Open> {
    const { channel, events, created_column: created } = config;
    const about = JSON.stringify([aboutOf(config), channel, events, created]);
    const known = this.#open.get(triggerId);
    const opening =
      known === undefined
        ? this.#connect(scope, triggerId, config, about)
        : known.then((open) => {
            if (open.about === about) return open;
            void open.reader.close();
            return this.#connect(scope, triggerId, config, about);
          });
    this.#open.set(triggerId, opening);
    return opening;
  }

  async #connect(
    scope: TenantScope,
    triggerId: string,
    config: DatabaseEventConfig,
    about: string,
  ): Promise<Open> {
    const { databases, wake } = this.#parts;
    const reader = await databases.connect(scope, config.database_config_id);
    try {
      if (!reader.allows(tableOf(config))) {
        throw new PlatformError('insufficient_permissions', {
          message: 'The database configuration does not allow this table.',
        });
      }
      const keys = await keyColumns(reader, config);
      const birth = await birthColumn(reader, config, keys);
      if (config.channel !== undefined) {
        await reader.listen(config.channel, {
          onNotification: () => wake(scope, triggerId),
          // Looking goes on without it; the next connection listens again.
          onEnd: () => undefined,
        });
      }
      return { about, reader, keys, birth };
    } catch (error) {
      await reader.close();
      throw error;
    }
  }

  #close(triggerId: string): void {
    const open = this.#open.get(triggerId);
    this.#open.delete(triggerId);
    open
      ?.then(({ reader }) => reader.close())
      .catch((error: unknown) => this.#parts.report('closing a database', error));
  }
}

/** Where a trigger begins: what is there now is no news. */
async function begun(
  reader: DatabaseReader,
  config: DatabaseEventConfig,
  birth: string | undefined,
): Promise<EventState> {
  const born = birth === undefined ? undefined : await highestOf(reader, config, birth);
  const floor = await highestOf(reader, config, config.cursor_column);
  return { about: aboutOf(config), floor, cursor: floor, born };
}

/** What is wrong with the configuration itself. */
function refusalOf(error: unknown): PlatformError | undefined {
  if (!(error instanceof PlatformError)) return undefined;
  if (error.code === 'not_found') {
    const at = 'trigger_config.database_config_id';
    return invalidField(at, 'names a database configuration that does not exist');
  }
  if (!(error instanceof DatabaseError)) return undefined;
  if (error.sqlState === '42P01') return invalidField('trigger_config.table', 'does not exist');
  return error.sqlState === '42703'
    ? invalidField('trigger_config.cursor_column', 'does not exist')
    : undefined;
}

function aboutOf({ database_config_id, table, cursor_column }: DatabaseEventConfig): string {
  return JSON.stringify([database_config_id, table, cursor_column]);
}

function messageOf({ message_template }: DatabaseEventConfig, row: TextRow): string {
  const message = fillText(message_template, row);
  return message.trim() === '' ? JSON.stringify(row) : message;
}

/** Where the cursor stood before the stretch began; until the trigger is that old, all since its beginning. */
function behindStretch({ marks = [], floor = null }: EventState, nowMs: number): string | null {
  const old = marks.findLast(({ at }) => at <= nowMs - stretchMs);
  return old === undefined ? floor : old.cursor;
}

/** Of the marks, the newest that is older than the stretch, and all after it. */
function stateAfter(state: EventState, nowMs: number, swept: boolean): EventState {
  if (!swept) return state;
  const marks = [...(state.marks ?? []), { at: nowMs, cursor: state.cursor ?? null }];
  const old = marks.findLastIndex(({ at }) => at <= nowMs - stretchMs);
  return { ...state, marks: marks.slice(Math.max(0, old)), swept_ms: nowMs };
}
