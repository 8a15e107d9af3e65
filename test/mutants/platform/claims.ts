import { mutantsOf } from '../mutant.js';

const claiming = {
  tests: ['test/unit/infra/claims/', 'test/integration/infra/claims/'],
  simulations: ['conversations'] as const,
};
/** Work that processes claim. */
export const claims = [
  ...mutantsOf(
    'src/infra/claims/claim-loop.ts',
    [
      {
        id: 'handled-twice-at-once',
        rule: 'A subject is never handled twice at the same time on one node.',
        find: `    if (atWork !== undefined) atWork.next = subject;
    else if`,
        replace: `    if (atWork !== undefined && this.#stopped) atWork.next = subject;
    else if`,
      },
      {
        id: 'later-request-forgotten',
        rule: 'A request that arrives during the work leads to another look.',
        find: `      if (state.next !== undefined) this.ask(state.next);
      else if`,
        replace: `      if`,
      },
      {
        id: 'failed-work-forgotten',
        rule: 'A subject whose handling failed is handled again.',
        find: `      report(names.working, error);
      return { subject, inMs: pauseMs };`,
        replace: `      report(names.working, error);
      return undefined;`,
      },
      {
        id: 'abandoned-work-not-swept',
        rule: 'A periodic sweep finds what other nodes left behind.',
        find: `      void this.#sweepOnce(false).finally(() => this.#scheduleSweep());`,
        replace: `      void Promise.resolve().finally(() => this.#scheduleSweep());`,
      },
      {
        id: 'waiting-subjects-stay',
        rule: 'The end of one subject begins a waiting one.',
        find: `      this.#beginWaiting();
      if`,
        replace: `      if`,
      },
      {
        id: 'stop-leaves-work-running',
        rule: 'A stop waits for what is being handled.',
        find: `    await Promise.all(this.#running);`,
        replace: ``,
      },
    ],
    claiming,
  ),
  ...mutantsOf(
    'src/infra/claims/void-claims.ts',
    [
      {
        id: 'claims-of-the-dead-stay',
        rule: 'The claims of a process that is gone are void at once.',
        find: `      await this.#parts.store.directory((tx) => table.release(tx, gone));`,
        replace: ``,
      },
      {
        id: 'claims-of-the-living-void',
        rule: 'Only the claims of processes that are surely gone are void.',
        find: `      if (!this.#parts.holders.isGone(process)) continue;`,
        replace: ``,
      },
      {
        id: 'dead-followed-once',
        rule: 'Claims that a process wrote just before its end are found by a later look.',
        find: `      if (nowMs < untilMs) continue;`,
        replace: ``,
      },
      {
        id: 'unknown-holders-not-searched',
        rule: 'Claims of processes that this one never knew are found too.',
        find: `      if (this.#follow(await this.#holdersInStore(), nowMs)) isNew = true;`,
        replace: ``,
      },
      {
        id: 'voided-work-not-looked-at',
        rule: 'Work whose claim was voided is looked for at once.',
        find: `      sweepNow();
    }
  }
}`,
        replace: `      void sweepNow;
    }
  }
}`,
      },
    ],
    claiming,
  ),
  ...mutantsOf(
    'src/infra/claims/claimed-table.ts',
    [
      {
        id: 'voided-claim-keeps-its-name',
        rule: 'A voided claim names nobody.',
        find: `    update \${table} set claimed_by = null, \${due} where (\${keys}) in (`,
        replace: `    update \${table} set claimed_by = claimed_by, \${due} where (\${keys}) in (`,
      },
    ],
    claiming,
  ),
  ...mutantsOf(
    'src/kernel/fair-limiter.ts',
    [
      {
        id: 'one-share-takes-all',
        rule: 'No share takes all places.',
        find: `    return this.insideOf(share) < this.#limits.each;`,
        replace: `    return this.insideOf(share) < this.#limits.all;`,
      },
      {
        id: 'places-without-bound',
        rule: 'At most so many are admitted at once.',
        find: `    return this.free > 0 && this.#hasOwnPlace(share);`,
        replace: `    return this.#hasOwnPlace(share);`,
      },
    ],
    claiming,
  ),
];
