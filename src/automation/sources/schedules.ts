import { z } from 'zod';
import type { Ids } from '../../kernel/chance.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { Store, TenantTransaction } from '../../infra/storage/index.js';
import type { InboxMessage } from '../messages/inbox-message.js';
import type { MessageSealer } from '../messages/message-payload.js';
import type { LiveTrigger, LiveTriggers } from '../triggers/live-triggers.js';
import type { TriggerMeasures } from '../messages/measures.js';
import { neverFires, Schedule } from '../triggers/schedule/schedule.js';
import { configAs } from '../triggers/types/registry.js';
import type { ScheduleConfig } from '../triggers/types/schedule.js';
import { putIntoInbox } from './found-messages.js';
import { isRunning } from '../inbox/found-messages.store.js';
import { armUnlessSame, lockDue, moveOn } from './sources.store.js';
import { type ArmedRow, type Polled, type TriggerSource, UnreadableHereError } from './trigger-source.js';

/**
 * A firing noticed within this time is on time. Later ones count as missed, and the trigger's `missed` policy applies.
 */
const onTimeMs = 30_000;
/** The most firings of one poll: an expression with seconds may have many after a pause. */
const firingsMax = 30;
const keepMs = 8 * 24 * 3_600_000;

const scheduleState = z.object({
  handled_ms: z.number(),
  /** The times it was armed for, and the revision of its trigger. */
  about: z.string().optional(),
  revision: z.number().optional(),
});

export interface SchedulesParts {
  readonly store: Store;
  readonly live: Pick<LiveTriggers, 'get'>;
  readonly seal: MessageSealer;
  readonly measures: Pick<TriggerMeasures, 'fired'>;
  readonly ids: Ids;
}

/** The state of a newly armed schedule: the next firing, with all earlier ones handled. */
function armedSchedule(
  config: ScheduleConfig,
  revision: number,
  nowMs: number,
): { readonly state: object; readonly dueAt: Date | undefined } {
  const about = JSON.stringify([config.cron, config.timezone]);
  const state = { handled_ms: nowMs, about, revision };
  const schedule = readSchedule(config, nowMs);
  // The next poll reads it, or notes why not.
  if (typeof schedule === 'string') return { state, dueAt: new Date(nowMs) };
  const next = schedule?.next(nowMs);
  return { state, dueAt: next === undefined ? undefined : new Date(next) };
}

/**
 * Undefined: it never fires again. A text: why it cannot be read here. It was checked when it was saved, perhaps by a
 * node whose release of Node knows more time zones.
 */
function readSchedule(config: ScheduleConfig, nowMs: number): Schedule | undefined | string {
  const read = Schedule.read(config, nowMs);
  if (read instanceof Schedule) return read;
  return read.issue === neverFires ? undefined : `The schedule cannot be read: ${read.field} ${read.issue}.`;
}

/**
 * Fires the due runs of one schedule in the transaction that moves the schedule on. Several nodes may try; the row lock
 * admits one, and a run's key is its firing time, so no time runs twice. Uses PostgreSQL's clock.
 */
export class Schedules implements TriggerSource<'schedule'> {
  readonly type = 'schedule';
  readonly keepsConnection = false;
  readonly pollsMax = { all: 1_000, each: 500 };
  readonly #parts: SchedulesParts;

  constructor(parts: SchedulesParts) {
    this.#parts = parts;
  }

  async arm(tx: TenantTransaction, config: ScheduleConfig, { row, now }: ArmedRow): Promise<void> {
    const { state, dueAt } = armedSchedule(config, row.revision, now.getTime());
    await armUnlessSame(tx.scope, tx, {
      triggerId: row.id,
      kind: this.type,
      state,
      dueAt: row.enabled ? dueAt : undefined,
    });
  }

  async poll(scope: TenantScope, triggerId: string): Promise<Polled> {
    const trigger = await this.#parts.live.get(triggerId);
    if (trigger === undefined) return { items: [], skipped: 'unknown' };
    return { items: await this.#fire(scope, triggerId, trigger) };
  }

  async #fire(scope: TenantScope, triggerId: string, trigger: LiveTrigger): Promise<readonly InboxMessage[]> {
    const { store, measures } = this.#parts;
    const config = configAs(this.type, trigger.parsed);
    if (config === undefined) return [];
    const fired = await store.inTenant(scope, async (tx) => {
      const row = await lockDue(scope, tx, triggerId);
      if (row === null) return [];
      const nowMs = row.now.getTime();
      const state = scheduleState.parse(row.state);
      // The trigger has changed and this node has not seen it yet: a node that has will fire it.
      if (state.revision !== undefined && trigger.revision < state.revision) return [];
      const schedule = trigger.enabled ? readSchedule(config, nowMs) : undefined;
      if (typeof schedule === 'string') throw new UnreadableHereError(schedule);
      const { handled_ms: handledMs } = state;
      const next = schedule?.next(nowMs);
      await moveOn(scope, tx, triggerId, {
        before: row.state,
        state: { ...state, handled_ms: nowMs },
        dueAt: next === undefined ? undefined : new Date(next),
      });
      // A suspended tenant's firings pass; the schedule goes on when the tenant is resumed.
      if (schedule === undefined || trigger.suspended) return [];
      const busy = !config.allow_overlap && (await isRunning(scope, tx, triggerId));
      const begun: { readonly item: InboxMessage; readonly lateMs: number }[] = [];
      for (const firingMs of busy ? [] : firingsDue(schedule, config, handledMs, nowMs)) {
        const item = await putIntoInbox(scope, tx, this.#parts, {
          triggerId,
          key: `schedule:${new Date(firingMs).toISOString()}`,
          sessionId: this.#parts.ids.uuid(),
          work: { message: config.message, context: config.context },
          keepMs,
        });
        if (item !== undefined) begun.push({ item, lateMs: nowMs - firingMs });
        // The first run starts now; the others would overlap it.
        if (!config.allow_overlap) break;
      }
      return begun;
    });
    // Without the commit nothing has fired, and the next poll finds the same firings.
    for (const { lateMs } of fired) measures.fired(lateMs);
    return fired.map(({ item }) => item);
  }
}

/** The firings that are on time; otherwise the missed one to make up. */
export function firingsDue(
  schedule: Schedule,
  { missed }: Pick<ScheduleConfig, 'missed'>,
  handledMs: number,
  nowMs: number,
): readonly number[] {
  const onTime = schedule.between(Math.max(handledMs, nowMs - onTimeMs), nowMs, firingsMax);
  if (onTime.length > 0) return onTime;
  const madeUp = schedule.missed(missed, handledMs, nowMs);
  return madeUp === undefined ? [] : [madeUp];
}
