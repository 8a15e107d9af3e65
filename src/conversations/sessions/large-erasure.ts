import type { Time } from '../../../cluster/index.js';
import type { Store, TenantTransaction } from '../../infra/storage/index.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { blankPreviewsOfSession } from '../../models/usage/index.js';
import { forgetOfSession } from '../attachments/index.js';
import {
  type BegunErasure,
  claimErasure,
  endErasure,
  forgetExecutionsOfSession,
  forgetMessagesOfSession,
  holdErasure,
  isLarge,
  type LastRow,
  lastRowOf,
  otherParticipant,
} from './erasure.store.js';
import { isUnused } from './retention.store.js';

/** The messages, or executions, that a session may have to be erased by one commit. Each may come with 50 MB of files. */
const smallMax = 100;
/** The size of a batch: ten to twenty milliseconds of the database. */
const rowsMax = 2_000;
/** An execution goes with its steps, answers and inbox rows. */
const executionsMax = 200;
/** Up to 5 MB each. */
const attachmentsMax = 10;
const pauseMs = 5;
/** Far below the time after which another process goes on. */
const holdEveryMs = 20_000;

const everyRow: LastRow = {
  message: Number.MAX_SAFE_INTEGER,
  execution: Number.MAX_SAFE_INTEGER,
  readAt: 'infinity',
};

export interface LargeErasureParts {
  readonly store: Store;
  readonly time: Time;
}

export interface BegunBy {
  readonly sessionId: string;
  readonly actor: string;
  readonly begun?: ((tx: TenantTransaction) => Promise<void>) | undefined;
}

/**
 * Empties large sessions in batches before their actors erase them, since the commit of an actor is shared with those of
 * other sessions: 200,000 messages in it held all of them up for seconds. One session at a time, so that several large
 * ones together are no heavier.
 */
export class LargeErasure {
  readonly #store: Store;
  readonly #time: Time;
  #last: Promise<unknown> = Promise.resolve();

  constructor({ store, time }: LargeErasureParts) {
    this.#store = store;
    this.#time = time;
  }

  /**
   * Erases by `erase` once the session is small. The intent is durable before the first row goes; with it, `begun` writes
   * what must be on record even if this process does not reach the end.
   */
  async around<Result>(
    scope: TenantScope,
    { sessionId, actor, begun }: BegunBy,
    erase: () => Promise<Result>,
  ): Promise<Result> {
    if (!(await this.#store.inTenant(scope, (tx) => isLarge(tx, sessionId, smallMax)))) return erase();
    await this.#store.inTenant(scope, async (tx) => {
      await holdErasure(tx, sessionId, actor);
      await begun?.(tx);
    });
    await this.#inTurn(async () => {
      const held = this.#held(scope, sessionId, actor);
      await held();
      await this.#emptyRows(scope, sessionId, everyRow, held);
      await repeated(async () => {
        await held();
        const forgotten = await this.#store.inTenant(scope, (tx) =>
          forgetOfSession(tx, sessionId, attachmentsMax),
        );
        await this.#pause();
        return forgotten < attachmentsMax ? undefined : true;
      });
    });
    const result = await erase();
    await this.end(scope, sessionId);
    return result;
  }

  /**
   * Erases a person's part by `erase`; a large session that is theirs alone is emptied first. Rows that come after the look
   * stay, since another person may have joined with them. No intent is written: the person is erased last, so that the
   * same request goes on after a failure.
   */
  async ofPerson<Result>(
    scope: TenantScope,
    { sessionId, consumerKey }: { readonly sessionId: string; readonly consumerKey: string },
    erase: () => Promise<Result>,
  ): Promise<Result> {
    const last = await this.#store.inTenant(scope, async (tx) =>
      (await otherParticipant(tx, sessionId, consumerKey)) === undefined &&
      (await isLarge(tx, sessionId, smallMax))
        ? lastRowOf(tx, sessionId)
        : undefined,
    );
    if (last !== undefined) await this.#emptyUpTo(scope, sessionId, last);
    return erase();
  }

  /**
   * Erases a session that is kept no longer by `erase`, unless it is in use. No intent is written: somebody may write in it
   * before this ends, and the session is found again as long as it is old.
   */
  async ofUnused(
    scope: TenantScope,
    { sessionId, before }: { readonly sessionId: string; readonly before: Date },
    erase: () => Promise<boolean>,
  ): Promise<boolean> {
    const found = await this.#store.inTenant(scope, async (tx) => {
      if (!(await isUnused(tx, sessionId, before))) return undefined;
      return { large: (await isLarge(tx, sessionId, smallMax)) ? await lastRowOf(tx, sessionId) : undefined };
    });
    if (found === undefined) return false;
    if (found.large !== undefined) await this.#emptyUpTo(scope, sessionId, found.large);
    return erase();
  }

  async end(scope: TenantScope, sessionId: string): Promise<void> {
    await this.#store.inTenant(scope, (tx) => endErasure(tx, sessionId));
  }

  /** An erasure that another process did not end; undefined if there is none. */
  async claim(): Promise<BegunErasure | undefined> {
    return (await this.#store.directory(claimErasure)) ?? undefined;
  }

  /** Without an intent, so that nothing is held. */
  #emptyUpTo(scope: TenantScope, sessionId: string, last: LastRow): Promise<void> {
    return this.#inTurn(() => this.#emptyRows(scope, sessionId, last, () => Promise.resolve()));
  }

  /** Messages and executions up to a number, and the previews of the session's model calls. */
  async #emptyRows(
    scope: TenantScope,
    sessionId: string,
    { message, execution, readAt }: LastRow,
    held: () => Promise<void>,
  ): Promise<void> {
    const inBatches = <Place>(
      batch: (tx: TenantTransaction, place: Place | undefined) => Promise<Place | undefined>,
    ): Promise<void> =>
      repeated<Place>(async (after) => {
        await held();
        const place = await this.#store.inTenant(scope, (tx) => batch(tx, after));
        await this.#pause();
        return place;
      });
    await inBatches<number>((tx, after = -1) =>
      forgetMessagesOfSession(tx, sessionId, { after, last: message }, rowsMax),
    );
    await inBatches<number>((tx, after = -1) =>
      forgetExecutionsOfSession(tx, sessionId, { after, last: execution }, executionsMax),
    );
    await inBatches<string>((tx, from) =>
      blankPreviewsOfSession(tx, sessionId, { from, before: readAt }, rowsMax),
    );
  }

  /** Tells other processes now and then that this one is at it. */
  #held(scope: TenantScope, sessionId: string, actor: string): () => Promise<void> {
    let heldAtMs = Number.NEGATIVE_INFINITY;
    return async () => {
      if (this.#time.monotonicMs() - heldAtMs < holdEveryMs) return;
      heldAtMs = this.#time.monotonicMs();
      await this.#store.inTenant(scope, (tx) => holdErasure(tx, sessionId, actor));
    };
  }

  /** One session after the other. */
  async #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#last.then(work);
    // The caller of this one hears of a failure; the next one does not depend on it.
    this.#last = done.catch(() => undefined);
    await done;
  }

  /** Leaves the database to others between two batches. */
  #pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#time.after(pauseMs, resolve);
    });
  }
}

/** Calls with the place of the call before, until there is none. */
async function repeated<Place>(
  step: (place: Place | undefined) => Promise<Place | undefined>,
): Promise<void> {
  for (let place = await step(undefined); place !== undefined;) place = await step(place);
}
