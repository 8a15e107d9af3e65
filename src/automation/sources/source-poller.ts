import type { Time } from '../../../cluster/index.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { Store } from '../../infra/storage/index.js';
import type { InboxRunner } from '../inbox/inbox-runner.js';
import type { TriggerMeasures } from '../messages/measures.js';
import { type ClaimedWork, type Later, ClaimLoop } from '../../infra/claims/index.js';
import type { TriggerType } from '../triggers/types/registry.js';
import type { Sources } from './sources.js';
import { dueSources, giveBack, noteFailure, type PutOff, putOff, sourceClaims } from './sources.store.js';
import { type SkipReason, type TriggerSource, UnreadableHereError } from './trigger-source.js';
import { storableText } from '../../kernel/storable-text.js';

const sweepEveryMs = 500;
/** Connected sources stay with the node that polled last, unless it is this late. */
const lateMs = 3_000;
const sourcesMax = 200;
const errorCharsMax = 500;
/** The pause after a failed poll; doubled with each further failure. */
const pauseMs = 15_000;
/** The same if another node may manage the poll: several attempts within the time that a schedule may be late. */
const pauseForOthersMs = 2_000;

/** When sources that were skipped are due again. */
const putOffs: Readonly<Record<SkipReason, PutOff>> = {
  suspended: { lateMs: 0, inMs: 30_000 },
  // Shorter than a schedule's firing may be late: this node may not have seen yet that the trigger exists.
  unknown: { lateMs: 0, inMs: 10_000 },
  // It stays late, so that a node with room polls it at once; it only goes behind the other late ones.
  full: { lateMs: 2 * lateMs, inMs: -lateMs },
};

export interface SourcePollerParts {
  readonly store: Store;
  readonly runner: Pick<InboxRunner, 'begin'>;
  readonly sources: Pick<Sources, 'get' | 'all'>;
  readonly measures: Pick<TriggerMeasures, 'accepted'>;
  readonly time: Time;
  readonly scopeOf: (tenantId: string) => TenantScope;
  readonly report: (attempted: string, error: unknown) => void;
}

interface Source {
  readonly scope: TenantScope;
  readonly triggerId: string;
  readonly kind: TriggerType;
  /** New content was announced, so poll before the source is due. */
  readonly early: boolean;
}

/**
 * Polls the sources of triggers when they are due. Each type is found and polled apart from the others: a poll of a mailbox
 * may wait for its server for many seconds, and a schedule fires within a few.
 */
export class SourcePoller {
  readonly #parts: SourcePollerParts;
  readonly #loops: ReadonlyMap<TriggerType, ClaimLoop<Source>>;
  #isStopping = false;

  constructor(parts: SourcePollerParts) {
    this.#parts = parts;
    this.#loops = new Map(parts.sources.all().map((source) => [source.type, this.#loopOf(source)]));
  }

  #loopOf({ type, keepsConnection, pollsMax }: TriggerSource): ClaimLoop<Source> {
    const { store, time, scopeOf, report } = this.#parts;
    const wanted = { kind: type, lateMs: keepsConnection ? lateMs : 0, rowsMax: sourcesMax };
    return new ClaimLoop<Source>({
      time,
      report,
      keyOf: ({ triggerId }) => triggerId,
      shareOf: ({ scope }) => scope.tenantId,
      work: (source) => this.#poll(source),
      findDue: async () =>
        (await store.directory((tx) => dueSources(tx, wanted))).map(({ tenant_id, trigger_id }) => ({
          scope: scopeOf(tenant_id),
          triggerId: trigger_id,
          kind: type,
          early: false,
        })),
      everyMs: sweepEveryMs,
      room: pollsMax,
      names: { working: 'polling a trigger', finding: 'finding triggers that are due' },
    });
  }

  start(): void {
    for (const loop of this.#loops.values()) loop.start();
  }

  /** The claims on sources, for when a process has gone. */
  get claims(): ClaimedWork {
    return { table: sourceClaims(lateMs), sweepNow: () => this.#sweepNow() };
  }

  /** Begins no further poll: other nodes poll from now on. Resolves when those that run have ended. */
  async leave(): Promise<void> {
    await Promise.all([...this.#loops.values()].map((loop) => loop.stop()));
  }

  /** Ends the polls that run with `breakOff`: a slow server of a tenant would hold up the end of the node. */
  async stop(breakOff: () => Promise<unknown>): Promise<void> {
    this.#isStopping = true;
    await Promise.all([breakOff(), this.leave()]);
  }

  #sweepNow(): void {
    for (const loop of this.#loops.values()) loop.sweepNow();
  }

  /** Polls the source of a changed trigger at once, if a poll depends on more than the time. */
  changed(scope: TenantScope, triggerId: string, kind: TriggerType): void {
    if (this.#parts.sources.get(kind)?.keepsConnection === true) this.poll(scope, triggerId, kind);
  }

  poll(scope: TenantScope, triggerId: string, kind: TriggerType, early = false): void {
    this.#loops.get(kind)?.ask({ scope, triggerId, kind, early });
  }

  async #poll(source: Source): Promise<Later<Source> | undefined> {
    const { store, runner, sources, measures, report } = this.#parts;
    const { scope, triggerId, kind, early } = source;
    try {
      const found = await sources.get(kind)?.poll(scope, triggerId, early);
      for (const item of found?.items ?? []) {
        measures.accepted(kind);
        runner.begin(item);
      }
      const skipped = found?.skipped;
      if (skipped !== undefined) {
        await store.inTenant(scope, (tx) => putOff(scope, tx, triggerId, putOffs[skipped]));
      }
      const inMs = found?.againInMs;
      return inMs === undefined ? undefined : { subject: { ...source, early: false }, inMs };
    } catch (error) {
      if (this.#isStopping) {
        await store.inTenant(scope, (tx) => giveBack(scope, tx, triggerId, lateMs));
        return undefined;
      }
      const reason = error instanceof Error ? error.message : 'unknown';
      const message = storableText(reason.slice(0, errorCharsMax));
      const pause = error instanceof UnreadableHereError ? pauseForOthersMs : pauseMs;
      const failures = await store.inTenant(scope, (tx) => noteFailure(scope, tx, triggerId, pause, message));
      // The owner sees the error with the trigger; the log needs only the first in a row.
      if (failures === 1) report(`polling a trigger of kind ${kind}`, error);
      return undefined;
    }
  }
}
