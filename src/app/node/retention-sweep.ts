import type { Time, Timer } from '../../../cluster/index.js';
import { forgetAttachments, forgetUnbound } from '../../conversations/attachments/index.js';
import {
  forgetErased,
  forgetExecutions,
  forgetLogs,
  forgetMessages,
  type MessagePlace,
  type OldSession,
  type Sessions,
  sessionsBefore,
  sumTriggered,
} from '../../conversations/sessions/index.js';
import { forgetRequests } from '../../http/idempotency/index.js';
import { type Store, storeTime, type TenantTransaction } from '../../infra/storage/index.js';
import { type Retention, retentionDefaults } from '../../kernel/retention.js';
import { type TenantScope, tenantScope } from '../../kernel/tenant-scope.js';
import { forgetResponses } from '../../models/responses/index.js';
import {
  blankPreviews,
  dropExpiredMonths,
  forgetCalls,
  forgetUsage,
  sumDays,
} from '../../models/usage/index.js';
import { forgetAuditEntries, forgetPlatformAudit } from '../../tenancy/audit/index.js';
import type { ClaimedSweep, Identity } from '../../tenancy/identity/index.js';
import { forgetKeys } from '../../tenancy/keys/index.js';
import { forgetCosts } from '../../tenancy/quota/index.js';

const everyMs = 60_000;
/** Small, so that no request waits long for a lock or for disk space. */
const rowsMax = 500;
/** Each is an activation of its actor. */
const sessionsMax = 20;
/** Of each the hours are read once, and late hours of the tenant wait. */
const daysMax = 7;
const pauseMs = 20;
const dayMs = 86_400_000;
/** Longer than a message waits until its session accepts its turn: attachments of a message that never got one. */
const unboundKeptMs = 2 * dayMs;

export interface RetentionSweepParts {
  readonly store: Store;
  readonly tenants: Pick<Identity['tenants'], 'claimSweep'>;
  readonly sessions: Pick<Sessions, 'eraseUnused' | 'finishErasure'>;
  readonly time: Time;
  readonly report: (attempted: string, error: unknown) => void;
}

type Batch = (tx: TenantTransaction, before: Date, rowsMax: number) => Promise<number>;

const batches: readonly (readonly [keyof Retention, Batch])[] = [
  ['executions_days', forgetExecutions],
  ['messages_days', forgetResponses],
  ['messages_days', forgetAttachments],
  ['usage_days', forgetCalls],
  ['usage_days', forgetUsage],
  // After the calls that go with their previews.
  ['previews_days', blankPreviews],
  ['audit_days', forgetAuditEntries],
  ['audit_days', forgetKeys],
];

/**
 * Removes rows that tenants keep no longer, by the clock of PostgreSQL: a node whose own clock jumps ahead would delete
 * the rows of all tenants. Each tenant is due hourly; the node that claims it sweeps it. After the end
 * of that node the tenant is due again an hour later, and nothing is lost: old rows stay old.
 */
export class RetentionSweep {
  readonly #parts: RetentionSweepParts;
  #timer: Timer | undefined;
  #stopped = false;

  constructor(parts: RetentionSweepParts) {
    this.#parts = parts;
  }

  start(): void {
    if (this.#stopped) return;
    this.#timer = this.#parts.time.after(everyMs, () => {
      void this.sweep()
        .catch((error: unknown) => this.#parts.report('removing rows that are kept no longer', error))
        .finally(() => this.start());
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  /** Sweeps every tenant that is due. */
  async sweep(): Promise<void> {
    const { store, tenants, sessions, report } = this.#parts;
    const finishErasure = (): Promise<boolean> =>
      sessions.finishErasure().catch((error: unknown) => {
        report('erasing the rest of a session', error);
        return false;
      });
    while (!this.#stopped && (await finishErasure()));
    await this.#repeat(() => store.directory((tx) => forgetLogs(tx, rowsMax)));
    await this.#repeat(() => store.directory((tx) => forgetErased(tx, rowsMax)));
    await this.#repeat(() => store.directory((tx) => forgetRequests(tx, rowsMax)));
    const now = await store.directory(storeTime);
    const audited = new Date(now.getTime() - retentionDefaults.audit_days * dayMs);
    await this.#repeat(() => store.directory((tx) => forgetPlatformAudit(tx, audited, rowsMax)));
    // Before the rows of tenants: what goes whole is not deleted row by row.
    await dropExpiredMonths(store, now, retentionDefaults.usage_days).catch((error: unknown) =>
      report('dropping months of calls that are kept no longer', error),
    );
    while (!this.#stopped) {
      const claimed = await tenants.claimSweep();
      if (claimed === null) return;
      await this.#sweepTenant(tenantScope(claimed.id), claimed).catch((error: unknown) =>
        report('removing rows that a tenant keeps no longer', error),
      );
    }
  }

  async #sweepTenant(scope: TenantScope, { retention, now }: ClaimedSweep): Promise<void> {
    const { store } = this.#parts;
    const before = (name: keyof Retention): Date => new Date(now.getTime() - retention[name] * dayMs);
    while (!this.#stopped && (await store.inTenant(scope, (tx) => sumDays(tx, daysMax))) >= daysMax) {
      await this.#pause();
    }
    while (!this.#stopped && (await store.inTenant(scope, (tx) => sumTriggered(tx, daysMax))) >= daysMax) {
      await this.#pause();
    }
    await this.#forgetMessages(scope, before('messages_days'));
    for (const [name, batch] of batches) {
      await this.#repeat(() => store.inTenant(scope, (tx) => batch(tx, before(name), rowsMax)));
    }
    const unbound = new Date(now.getTime() - unboundKeptMs);
    await this.#repeat(() => store.inTenant(scope, (tx) => forgetUnbound(tx, unbound, rowsMax)));
    await this.#repeat(() => store.inTenant(scope, (tx) => forgetCosts(tx, rowsMax)));
    await this.#eraseSessions(scope, before('messages_days'));
  }

  async #forgetMessages(scope: TenantScope, before: Date): Promise<void> {
    let last: MessagePlace | undefined;
    while (!this.#stopped) {
      const after = last;
      last = await this.#parts.store.inTenant(scope, (tx) => forgetMessages(tx, before, after, rowsMax));
      if (last === undefined) return;
      await this.#pause();
    }
  }

  /** A session that cannot be erased now is left for the next hour. */
  async #eraseSessions(scope: TenantScope, before: Date): Promise<void> {
    const { store, sessions, report } = this.#parts;
    let last: OldSession | undefined;
    for (;;) {
      const old = await store.inTenant(scope, (tx) => sessionsBefore(tx, before, last, sessionsMax));
      for (const { id } of old) {
        if (this.#stopped) return;
        await sessions
          .eraseUnused(scope, id, before)
          .catch((error: unknown) => report('erasing a session that is kept no longer', error));
      }
      if (old.length < sessionsMax) return;
      last = old.at(-1);
      await this.#pause();
    }
  }

  async #repeat(batch: () => Promise<number>): Promise<void> {
    while (!this.#stopped && (await batch()) >= rowsMax) await this.#pause();
  }

  /** Leaves the database to others between two batches. */
  #pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#parts.time.after(pauseMs, resolve);
    });
  }
}
