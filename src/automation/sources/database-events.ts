import type { Ids } from '../../kernel/chance.js';
import type { Time } from '../../../cluster/index.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { DatabaseError, type DatabaseReader, type Databases, type TextRow } from '../databases/index.js';
import { recordRefused } from '../../conversations/sessions/index.js';
import { type ErrorCode, invalidField, PlatformError } from '../../kernel/errors.js';
import type { Store, TenantTransaction } from '../../infra/storage/index.js';
import type { DatabaseEventConfig } from '../triggers/types/database-event.js';
import { configAs } from '../triggers/types/registry.js';
import { knownKeys } from '../inbox/inbox.store.js';
import type { InboxMessage } from '../messages/inbox-message.js';
import type { MessageSealer } from '../messages/message-payload.js';
import { cutText } from '../triggers/mapped-context.js';
import type { LiveTrigger, LiveTriggers } from '../triggers/live-triggers.js';
import { FillBudget, fillText } from '../triggers/templates.js';
import {
  birthColumn,
  birthOf,
  type Births,
  type FoundRow,
  highestOf,
  keyColumns,
  keyOfFound,
  tableOf,
} from './database-rows.js';
import { bornLongAgo, type EventState, eventState, startOf, stateAfter, withBirth } from './event-state.js';
import { putIntoInbox } from './found-messages.js';
import { faultOf, lowOf } from './low-values.js';
import { noteSeen } from '../inbox/found-messages.store.js';
import { OpenTable } from './open-table.js';
import { readRows } from './row-reader.js';
import { armSource, moveOn, type SourceRow, takeDue } from './sources.store.js';
import type { ArmedRow, Polled, TriggerSource } from './trigger-source.js';

/** Rows are remembered for longer than they can be read again. */
const keepMs = 24 * 3_600_000;
const holdMs = 60_000;
/** The pause before the next poll if this one did not read all rows. */
const soonMs = 10;
/** How long after the resumption of a suspended tenant its source is read at the latest. */
const pausedAgainMs = 30_000;
const messageCharsMax = 200_000;

export interface DatabaseEventsParts {
  readonly store: Store;
  readonly live: LiveTriggers;
  readonly seal: MessageSealer;
  readonly databases: Pick<Databases, 'connect'>;
  readonly time: Time;
  readonly ids: Ids;
  /** A notification arrived, or none can arrive until a poll connects anew: poll before the source is due. */
  readonly wake: (scope: TenantScope, triggerId: string) => void;
  /** Whether this node holds as many waiting messages as it should; further rows stay in their table. */
  readonly isFull: () => boolean;
}

/**
 * Finds new and changed rows of tenants' tables by polling. A poll reads from the cursor and regularly a stretch behind
 * it. Each row becomes an inbox row with its own key in the transaction that moves the cursor, so a row runs once even
 * if a process dies in between.
 */
export class DatabaseEvents implements TriggerSource<'db_event'> {
  readonly type = 'db_event';
  readonly keepsConnection = true;
  readonly pollsMax = { all: 1_000, each: 500 };
  readonly #parts: DatabaseEventsParts;
  readonly #open = new Map<string, Promise<OpenTable>>();

  constructor(parts: DatabaseEventsParts) {
    this.#parts = parts;
  }

  async arm(tx: TenantTransaction, _: DatabaseEventConfig, { row, now, beginning }: ArmedRow): Promise<void> {
    const dueAt = row.enabled ? now : undefined;
    await armSource(tx.scope, tx, {
      triggerId: row.id,
      kind: this.type,
      state: beginning,
      revision: row.revision,
      dueAt,
    });
  }

  /**
   * The start position of a trigger: after all existing rows. Empty if the database is unreachable; undefined if polls
   * can continue from the position of the configuration before.
   */
  async beginning(
    scope: TenantScope,
    config: DatabaseEventConfig,
    before?: DatabaseEventConfig,
  ): Promise<object | undefined> {
    if (before !== undefined && aboutOf(before) === aboutOf(config)) return undefined;
    let reader: DatabaseReader | undefined;
    try {
      reader = await this.#parts.databases.connect(scope, config.database_config_id);
      if (!reader.allows(tableOf(config))) {
        throw invalidField('trigger_config.table', 'is not among the allowed tables of the database');
      }
      const birth = await birthColumn(reader, config, await keyColumns(reader, config));
      return await begun(reader, config, birth);
    } catch (error) {
      // Unreachable: the first poll that connects determines the start position.
      if (error instanceof DatabaseError && error.sqlState === undefined) return {};
      throw refusalOf(error) ?? error;
    } finally {
      await reader?.close();
    }
  }

  /** Polls once if the source is due and no other node is polling it. */
  async poll(scope: TenantScope, triggerId: string, early: boolean): Promise<Polled> {
    const { store, live } = this.#parts;
    const trigger = await live.get(triggerId);
    const config = configAs(this.type, trigger?.parsed);
    if (trigger === undefined || config === undefined || !trigger.enabled) {
      this.#close(triggerId);
      return trigger === undefined ? { items: [], skipped: 'unknown' } : { items: [] };
    }
    // A little later than due, so that it is due by the store's clock too.
    const againInMs = config.poll_ms + soonMs;
    if (trigger.suspended) return { items: [], againInMs: pausedAgainMs, skipped: 'suspended' };
    if (this.#parts.isFull()) return { items: [], againInMs, skipped: 'full' };
    const { revision } = trigger;
    const source = await store.inTenant(scope, (tx) =>
      takeDue(scope, tx, { triggerId, revision, holdMs, early }),
    );
    if (source === null) {
      // Another node polls the source now, or will.
      this.#close(triggerId);
      return { items: [] };
    }
    try {
      const { items, more } = await this.#read(scope, trigger, config, source);
      return { items, againInMs: more ? soonMs : againInMs };
    } catch (error) {
      this.#close(triggerId);
      throw error;
    }
  }

  async stop(): Promise<void> {
    const open = [...this.#open.values()];
    this.#open.clear();
    // The caller that opened a reader has already received its error.
    await Promise.all(open.map((one) => one.then((table) => table.close()).catch(() => undefined)));
  }

  async #read(
    scope: TenantScope,
    trigger: Pick<LiveTrigger, 'id' | 'agentId'>,
    config: DatabaseEventConfig,
    source: SourceRow,
  ): Promise<{ readonly items: readonly InboxMessage[]; readonly more: boolean }> {
    const { id: triggerId } = trigger;
    const nowMs = source.now.getTime();
    const { reader, birth } = await this.#openFor(scope, triggerId, config);
    const before = await this.#stateOf(reader, config, source, birth);
    const births = birth === undefined ? undefined : birthsOf(config, birth, before, nowMs);
    // Read before the rows: a row inserted in between is new for this poll, and recorded as such for the next.
    const born = birth === undefined ? undefined : await highestOf(reader, config, birth);
    const start = startOf(before, nowMs);
    const floor = before.floor ?? null;
    const table = {
      open: () => this.#openFor(scope, triggerId, config),
      close: () => this.#close(triggerId),
    };
    const place = { floor, births, ...start.place };
    const { rows, more, alone, keys } = await readRows(table, config, place, messageCharsMax);
    const found = rows.map((one) => ({ ...one, key: keyOfFound(one, keys, config) }));
    const read = {
      rows: rows.map(({ row }) => row),
      known: found.map(({ key }) => key),
      more,
      alone,
      keys,
      cursorColumn: config.cursor_column,
      born,
    };
    const low = await lowOf(table, config, { before, start, rows, nowMs });
    const state = { ...stateAfter(before, start, read, nowMs), ...low };
    const items = await this.#parts.store.inTenant(scope, async (tx) => {
      const dueAt = new Date(nowMs + (more ? 0 : config.poll_ms));
      if (
        !(await moveOn(scope, tx, triggerId, {
          before: source.state,
          state,
          dueAt,
          fault: faultOf(config, state),
        }))
      )
        return [];
      return this.#keep(
        scope,
        tx,
        trigger,
        config,
        keys,
        found,
        new Set([...(before.last ?? []), ...(before.passed?.keys ?? [])]),
      );
    });
    return { items, more };
  }

  async #keep(
    scope: TenantScope,
    tx: TenantTransaction,
    { id: triggerId, agentId }: Pick<LiveTrigger, 'id' | 'agentId'>,
    config: DatabaseEventConfig,
    keys: readonly string[],
    found: readonly (FoundRow & { readonly key: string })[],
    last: ReadonlySet<string>,
  ): Promise<readonly InboxMessage[]> {
    // A sweep reads mostly known rows, so all keys are checked in one query.
    const known = await knownKeys(
      scope,
      tx,
      triggerId,
      found.map(({ key }) => key),
    );
    const items: InboxMessage[] = [];
    for (const { row, isNew, fault, key } of found) {
      // A row inserted between the two queries of the last poll still looks new; what it shows now is a change.
      const birth = { triggerId, key: birthOf(row, keys, config), keepMs };
      if (isNew && (await noteSeen(scope, tx, birth))) {
        await noteSeen(scope, tx, { triggerId, key, keepMs });
        continue;
      }
      if (known.has(key) || last.has(key)) continue;
      if (fault !== undefined) {
        await noteSeen(scope, tx, { triggerId, key, keepMs });
        await this.#recordUnreadable(tx, triggerId, agentId, fault);
        continue;
      }
      const item = await putIntoInbox(scope, tx, this.#parts, {
        triggerId,
        key,
        sessionId: this.#parts.ids.uuid(),
        work: { message: messageOf(config, row), context: {} },
        keepMs,
      });
      if (item !== undefined) items.push(item);
    }
    return items;
  }

  /** Rows that cannot be read take no others with them: the owner sees why they started nothing. */
  #recordUnreadable(
    tx: TenantTransaction,
    triggerId: string,
    agentId: string,
    message: string,
  ): Promise<void> {
    return recordRefused(tx, {
      id: this.#parts.ids.uuid(),
      agentId,
      sessionId: null,
      triggerId,
      channel: this.type,
      userId: null,
      consumerKey: undefined,
      message: '(a row that cannot be read)',
      status: 'failed',
      error: { code: 'unreadable_row' satisfies ErrorCode, message },
    });
  }

  async #stateOf(
    reader: DatabaseReader,
    config: DatabaseEventConfig,
    source: SourceRow,
    birth: string | undefined,
  ): Promise<EventState> {
    const state = eventState.parse(source.state);
    if (state.about !== aboutOf(config)) {
      return { ...(await begun(reader, config, birth)), revision: state.revision };
    }
    // A state of the release before does not name the column.
    const isSame = state.born_column === undefined || state.born_column === birth;
    if (isSame && (birth === undefined || state.born !== undefined)) return { ...state, born_column: birth };
    const born = birth === undefined ? undefined : await highestOf(reader, config, birth);
    return withBirth(state, birth, born);
  }

  #openFor(scope: TenantScope, triggerId: string, config: DatabaseEventConfig): Promise<OpenTable> {
    const { channel, events, created_column: created } = config;
    const about = JSON.stringify([aboutOf(config), channel, events, created]);
    const known = this.#open.get(triggerId);
    const opening =
      known === undefined
        ? this.#connect(scope, triggerId, config, about)
        : known.then(async (open) => {
            if (await open.serves(about)) return open;
            // Its places are free before the new one takes its own: the tenant may have no others.
            await open.close();
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
  ): Promise<OpenTable> {
    const { databases, time } = this.#parts;
    const reader = await databases.connect(scope, config.database_config_id);
    try {
      if (!reader.allows(tableOf(config))) {
        throw new PlatformError('insufficient_permissions', {
          message: 'The database configuration does not allow this table. Add it to settings.allowed_tables.',
        });
      }
      const keys = await keyColumns(reader, config);
      const birth = await birthColumn(reader, config, keys);
      const wake = (): void => this.#parts.wake(scope, triggerId);
      const open = new OpenTable({ about, reader, keys, birth, time, wake });
      if (config.channel !== undefined) await open.listen(config.channel);
      return open;
    } catch (error) {
      await reader.close();
      throw error;
    }
  }

  #close(triggerId: string): void {
    const open = this.#open.get(triggerId);
    this.#open.delete(triggerId);
    // The caller that opened the reader has already received its error.
    open?.then((table) => table.close()).catch(() => undefined);
  }
}

/** The start position of a trigger: rows that exist now are not events. */
async function begun(
  reader: DatabaseReader,
  config: DatabaseEventConfig,
  birth: string | undefined,
): Promise<EventState> {
  const born = birth === undefined ? undefined : await highestOf(reader, config, birth);
  const floor = await highestOf(reader, config, config.cursor_column);
  return { about: aboutOf(config), floor, cursor: floor, born, born_floor: born, born_column: birth };
}

/** For inserts, a row is old once no sweep goes back to it; for updates, a row is new if the poll before could not see it. */
function birthsOf({ events }: DatabaseEventConfig, column: string, state: EventState, nowMs: number): Births {
  const only = events.includes('insert');
  return { column, only, before: (only ? bornLongAgo(state, nowMs) : state.born) ?? null };
}

/** The refusal for an error in the configuration itself. */
function refusalOf(error: unknown): PlatformError | undefined {
  if (!(error instanceof PlatformError)) return undefined;
  if (error.code === 'not_found') {
    const at = 'trigger_config.database_config_id';
    return invalidField(at, 'names a database configuration that does not exist or was deleted');
  }
  if (!(error instanceof DatabaseError)) return undefined;
  if (error.sqlState === '42P01') return invalidField('trigger_config.table', 'does not exist');
  return error.sqlState === '42703'
    ? invalidField('trigger_config.cursor_column', 'does not exist')
    : undefined;
}

/** Configurations with the same text continue from the same position. */
function aboutOf({ database_config_id, table, cursor_column }: DatabaseEventConfig): string {
  return JSON.stringify([database_config_id, table, cursor_column]);
}

function messageOf({ message_template }: DatabaseEventConfig, row: TextRow): string {
  const message = fillText(message_template, row, undefined, new FillBudget(messageCharsMax, 'cut'));
  return message.trim() === '' ? cutText(JSON.stringify(row), messageCharsMax) : message;
}
