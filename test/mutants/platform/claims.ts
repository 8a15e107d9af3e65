import { mutantsOf } from '../mutant.js';

const claiming = {
  tests: ['test/unit/infra/claims/', 'test/integration/infra/claims/'],
  simulations: ['conversations'] as const,
};
const inbox = {
  tests: [
    'test/unit/automation/start-pacer.test.ts',
    'test/unit/automation/store-away.test.ts',
    'test/integration/automation/left-behind.test.ts',
    'test/integration/automation/accept.test.ts',
    'test/integration/automation/finish.test.ts',
    'test/integration/infra/claims/',
    'test/integration/automation/simulated-messages.test.ts',
  ],
  simulations: ['conversations'] as const,
};

/** Work that processes claim, and messages that wait for their turn. */
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
  ...mutantsOf(
    'src/automation/inbox/inbox.store.ts',
    [
      {
        id: 'ended-by-a-former-holder',
        rule: 'A process that lost its claim does not end the message.',
        find: `    update trigger_inbox set state = 'done'
    where tenant_id = \${tenantId} and trigger_id = \${row.trigger_id} and key = \${row.key} and state = 'running'
      and claimed_by is not distinct from \${claimingProcess}\`);`,
        replace: `    update trigger_inbox set state = 'done'
    where tenant_id = \${tenantId} and trigger_id = \${row.trigger_id} and key = \${row.key} and state = 'running'\`);`,
      },
      {
        id: 'put-off-by-a-former-holder',
        rule: 'A process that lost its claim does not put the message off.',
        find: `      due_at = clock_timestamp() + \${pauseMs} * interval '1 millisecond'
    where tenant_id = \${tenantId} and trigger_id = \${row.trigger_id} and key = \${row.key} and state = 'running'
      and claimed_by is not distinct from \${claimingProcess}\`);`,
        replace: `      due_at = clock_timestamp() + \${pauseMs} * interval '1 millisecond'
    where tenant_id = \${tenantId} and trigger_id = \${row.trigger_id} and key = \${row.key} and state = 'running'\`);`,
      },
      {
        id: 'attempt-not-counted',
        rule: 'Each take-up of a message is counted before it runs.',
        find: `update trigger_inbox i set attempts = attempts + 1, claimed_by`,
        replace: `update trigger_inbox i set claimed_by`,
      },
      {
        id: 'held-message-claimed',
        rule: 'A message that a process holds is not claimed by another.',
        find: `      where r.state = 'running' and r.due_at <= clock_timestamp()
      for update of r skip locked)`,
        replace: `      where r.state = 'running'
      for update of r skip locked)`,
        tests: ['test/integration/infra/claims/void-claims.test.ts'],
      },
      {
        id: 'claim-without-a-hold',
        rule: 'A claim holds for a time.',
        find: `due_at = clock_timestamp() + \${holdMs} * interval '1 millisecond'
    where (tenant_id, trigger_id, key) in (
      select r.tenant_id`,
        replace: `due_at = clock_timestamp() + 0 * \${holdMs} * interval '1 millisecond'
    where (tenant_id, trigger_id, key) in (
      select r.tenant_id`,
      },
      {
        id: 'hold-of-another-extended',
        rule: 'A process extends only its own claims.',
        find: `        and claimed_by is not distinct from \${claimingProcess}
      -- A locked`,
        replace: `      -- A locked`,
      },
      {
        id: 'leaving-counts-as-lost',
        rule: 'A claim that is given back counts no lost process.',
        find: `set claimed_by = null, due_at = clock_timestamp(), attempts = greatest(0, attempts - 1)
    where`,
        replace: `set claimed_by = null, due_at = clock_timestamp()
    where`,
      },
      {
        id: 'done-message-done-again',
        rule: 'Only a running message is marked as done.',
        find: `      answer = coalesce(\${kept === undefined ? null : JSON.stringify(kept)}::jsonb, answer)
    where tenant_id = \${tenantId} and trigger_id = \${row.trigger_id} and key = \${row.key} and state = 'running'\`);`,
        replace: `      answer = coalesce(\${kept === undefined ? null : JSON.stringify(kept)}::jsonb, answer)
    where tenant_id = \${tenantId} and trigger_id = \${row.trigger_id} and key = \${row.key} and state = 'done'\`);`,
      },
    ],
    inbox,
  ),
  ...mutantsOf(
    'src/automation/inbox/inbox-runner.ts',
    [
      {
        id: 'same-message-runs-twice-here',
        rule: 'A message that runs on a node does not run there a second time.',
        find: `    if (known !== undefined) return known;
    this.#pacer`,
        replace: `    this.#pacer`,
        tests: ['test/integration/automation/inbox-runner.test.ts'],
      },
      {
        id: 'known-turn-given-up',
        rule: 'A message whose turn its session has is not given up for lack of patience.',
        find: `    return error instanceof TurnWaits || this.#parts.turns.isKnown(item);`,
        replace: `    return error instanceof TurnWaits;`,
        tests: ['test/integration/automation/inbox-runner.test.ts'],
      },
      {
        id: 'store-failure-loses-a-message',
        rule: 'A message that met a store failure runs again here.',
        find: `        this.#beginAgain(again);
      } else if`,
        replace: `      } else if`,
      },
      {
        id: 'erased-message-runs',
        rule: 'A message that waited in memory gets no turn if its row is gone.',
        find: `    if (read === undefined || this.#stopped) return;
    const { item, rest } = read;`,
        replace: `    const { item, rest } = read ?? { item: waiting.item, rest: undefined };`,
        tests: ['test/unit/automation/store-away.test.ts'],
      },
      {
        id: 'refused-message-given-up',
        rule: 'A message that its session refuses for now is put off.',
        find: `    if (mayBeAccepted && item.ageMs < patienceMs) return true;`,
        replace: `    if (mayBeAccepted && item.ageMs < 0) return true;`,
        tests: ['test/integration/automation/inbox-runner.test.ts'],
      },
      {
        id: 'denied-sender-runs',
        rule: 'A sender that was denied while its message waited gets no turn.',
        find: `    const { turn, record } = isRefused
      ?`,
        replace: `    const { turn, record } = isRefused && item.attempts < 0
      ?`,
        tests: ['test/integration/automation/inbox-runner.test.ts'],
      },
      {
        id: 'unknown-end-dropped',
        rule: 'A message whose end may not be committed, after a lost COMMIT answer, ends again here.',
        find: `(error.retryable || error.failure === 'outcome-unknown')`,
        replace: `error.retryable`,
      },
      {
        id: 'unknown-acceptance-forgotten',
        rule: 'A message whose acceptance is unknown is looked for.',
        find: `    if (row === undefined || looks <= 0) return;`,
        replace: `    if (row === undefined || looks > 0) return;`,
      },
      {
        id: 'holds-not-extended',
        rule: 'A node extends its claims on what runs there.',
        find: `    if (held.length > 0) await this.#parts.rows.renewClaims(held, holdMs);`,
        replace: `    if (held.length < 0) await this.#parts.rows.renewClaims(held, holdMs);`,
      },
    ],
    inbox,
  ),
  ...mutantsOf(
    'src/automation/inbox/left-behind.ts',
    [
      {
        id: 'poison-message-never-given-up',
        rule: 'A message whose processes died too often is given up.',
        find: `    const lost = items.filter(({ attempts }) => attempts > attemptsMax);`,
        replace: `    const lost = items.filter(({ attempts }) => attempts > attemptsMax * 1_000);`,
        tests: ['test/integration/automation/inbox-runner.test.ts'],
      },
      {
        id: 'ended-turn-given-up',
        rule: 'A message whose turn has ended is not given up.',
        find: `      if ((await turns.outcomeOf(item)) !== undefined) return begin(item);`,
        replace: `      if (item.attempts < 0) return begin(item);`,
        tests: ['test/integration/automation/inbox-runner.test.ts'],
      },
      {
        id: 'unknown-claims-kept',
        rule: 'Claims of which no answer came are given up.',
        find: `    if (this.#mayHoldUnknown) {`,
        replace: `    if (this.#mayHoldUnknown && room < 0) {`,
      },
      {
        id: 'left-behind-in-any-order',
        rule: 'Messages that are taken up again begin in the order of acceptance.',
        find: `.toSorted((one, other) => one.seq - other.seq)`,
        replace: `.toSorted((one, other) => other.seq - one.seq)`,
        tests: ['test/unit/automation/store-away.test.ts'],
      },
    ],
    inbox,
  ),
  ...mutantsOf(
    'src/automation/intake/inbox-rows.ts',
    [
      {
        id: 'own-row-counts-as-repeat',
        rule: 'A batch that is written again knows its own messages from repeats.',
        find: `      return (await this.#ownAcceptance(scope, row)) ?? acceptance;`,
        replace: `      return acceptance;`,
      },
    ],
    inbox,
  ),
  ...mutantsOf(
    'src/automation/inbox/message-completion.ts',
    [
      {
        id: 'answers-out-of-order',
        rule: 'The answers of a session are sent in the order of acceptance.',
        find: `      place,
      chunkTotal`,
        replace: `      place: -place,
      chunkTotal`,
      },
    ],
    inbox,
  ),
  ...mutantsOf(
    'src/infra/storage/batch-writer.ts',
    [
      {
        id: 'held-up-row-holds-its-batch',
        rule: 'A row that another transaction holds up does not delay the others of its batch.',
        find: `(verdict === 'one-is-wrong' || verdict === 'one-may-be-held-up') && left.length > 1`,
        replace: `verdict === 'one-is-wrong' && left.length > 1`,
      },
      {
        id: 'unknown-rows-not-written-again',
        rule: 'A batch whose outcome is unknown is written again.',
        find: `      failure = left.length === 0 ? undefined : await this.#attempt(left);`,
        replace: `      failure = undefined;`,
      },
    ],
    {
      tests: ['test/integration/infra/storage/batch-writer.test.ts'],
      simulations: ['conversations'] as const,
    },
  ),
];
