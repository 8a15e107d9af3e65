import { z } from 'zod';
import type { Ids } from '../../kernel/chance.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { Store } from '../../infra/storage/index.js';
import type { ScheduleConfig } from '../triggers/config/source-configs.js';
import type { InboxMessage } from '../messages/inbox-message.js';
import type { MessageSealer } from '../messages/message-payload.js';
import type { LiveTriggers } from '../triggers/live-triggers.js';
import type { TriggerMeasures } from '../messages/measures.js';
import { Schedule } from '../triggers/schedule/schedule.js';
import { putIntoInbox } from './found-messages.js';
import { isRunning } from '../inbox/found-messages.store.js';
import { lockDue, moveOn } from './sources.store.js';

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

export function scheduleOf(config: ScheduleConfig, nowMs: number): Schedule | undefined {
  const schedule = Schedule.read(config, nowMs);
  return schedule instanceof Schedule ? schedule : undefined;
}

/** The state of a newly armed schedule: the next firing, with all earlier ones handled. */
export function armedSchedule(
  config: ScheduleConfig,
  revision: number,
  nowMs: number,
): { readonly state: object; readonly dueAt: Date | undefined } {
  const next = scheduleOf(config, nowMs)?.next(nowMs);
  const about = JSON.stringify([config.cron, config.timezone]);
  return {
    state: { handled_ms: nowMs, about, revision },
    dueAt: next === undefined ? undefined : new Date(next),
  };
}

/**
 * Fires the due runs of one schedule in the transaction that moves the schedule on. Several nodes may try; the row lock
 * admits one, and a run's key is its firing time, so no time runs twice. Uses PostgreSQL's clock.
 */
export class Schedules {
  readonly #parts: SchedulesParts;

  constructor(parts: SchedulesParts) {
    this.#parts = parts;
  }

  async fire(scope: TenantScope, triggerId: string): Promise<readonly InboxMessage[]> {
    const { store, live } = this.#parts;
    const trigger = await live.get(triggerId);
    if (trigger?.parsed.type !== 'schedule') return [];
    const { config } = trigger.parsed;
    return store.inTenant(scope, async (tx) => {
      const row = await lockDue(scope, tx, triggerId);
      if (row === null) return [];
      const nowMs = row.now.getTime();
      const state = scheduleState.parse(row.state);
      // The trigger has changed and this node has not seen it yet: a node that has will fire it.
      if (state.revision !== undefined && trigger.revision < state.revision) return [];
      const schedule = scheduleOf(config, nowMs);
      const { handled_ms: handledMs } = state;
      const next = schedule?.next(nowMs);
      await moveOn(scope, tx, triggerId, {
        before: row.state,
        state: { ...state, handled_ms: nowMs },
        dueAt: next === undefined || !trigger.enabled ? undefined : new Date(next),
      });
      // A suspended tenant's firings pass; the schedule goes on when the tenant is resumed.
      if (schedule === undefined || !trigger.enabled || trigger.suspended) return [];
      const busy = !config.allow_overlap && (await isRunning(scope, tx, triggerId));
      const items: InboxMessage[] = [];
      for (const firingMs of busy ? [] : firingsDue(schedule, config, handledMs, nowMs)) {
        const item = await putIntoInbox(scope, tx, this.#parts, {
          triggerId,
          key: `schedule:${new Date(firingMs).toISOString()}`,
          sessionId: this.#parts.ids.uuid(),
          work: { message: config.message, context: config.context },
          keepMs,
        });
        if (item !== undefined) {
          items.push(item);
          this.#parts.measures.fired(nowMs - firingMs);
        }
        // The first run starts now; the others would overlap it.
        if (!config.allow_overlap) break;
      }
      return items;
    });
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
