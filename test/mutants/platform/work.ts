import { mutantsOf } from '../mutant.js';

const outbox = {
  tests: [
    'test/unit/automation/retry.test.ts',
    'test/unit/automation/senders.test.ts',
    'test/integration/automation/sender.test.ts',
    'test/integration/automation/answers.test.ts',
    'test/integration/automation/finish.test.ts',
    'test/integration/infra/claims/',
    'test/integration/automation/simulated-messages.test.ts',
  ],
  simulations: ['conversations'] as const,
};
const turns = {
  tests: ['test/unit/conversations/sessions/', 'test/integration/conversations/sessions/'],
  simulations: ['conversations'] as const,
};
const usage = {
  tests: [
    'test/integration/models/usage/ledger.test.ts',
    'test/integration/models/usage/withdrawn.test.ts',
    'test/integration/models/calls/bill.test.ts',
  ],
  simulations: ['conversations'] as const,
};

/** Turns, deliveries and ledger rows: fenced, ended, delivered. */
export const work = [
  ...mutantsOf(
    'src/automation/outbox/sender.ts',
    [
      {
        id: 'queue-not-told-of-the-end',
        rule: 'Answers behind one that was sent by itself go on at its end.',
        find: `        this.announce(scope, sessionId);
        if (ageMs === undefined) return 'taken';`,
        replace: `        if (ageMs === undefined) return 'taken';`,
      },
      {
        id: 'last-chunk-repeats',
        rule: 'The last chunk ends a delivery.',
        find: `    return chunk === chunk_total`,
        replace: `    return chunk > chunk_total`,
      },
      {
        id: 'failed-delivery-counts-as-sent',
        rule: 'A delivery that was given up has failed.',
        find: `  if (verdict === 'give-up' || once) return { step: 'over', status: 'delivery_failed' };`,
        replace: `  if (verdict === 'give-up' || once) return { step: 'over', status: 'delivered' };`,
        tests: ['test/integration/automation/refused-answers.test.ts'],
      },
      {
        id: 'lost-claim-recorded',
        rule: 'An attempt that was not made is not recorded as one.',
        find: `      if (error instanceof ClaimLost) return undefined;
      if (error instanceof NoPlace)`,
        replace: `      if (error instanceof NoPlace)`,
      },
      {
        id: 'begun-attempt-sent-again',
        rule: 'An attempt that another statement started is made once.',
        find: `      begun = undefined;
      return taken;`,
        replace: `      return taken;`,
      },
      {
        id: 'unbegun-answer-not-sent',
        rule: 'An answer that was written but not started waits in the queue.',
        find: `      mustAnnounce = finish.waits;`,
        replace: `      mustAnnounce = false && finish.waits;`,
      },
    ],
    outbox,
  ),
  ...mutantsOf(
    'src/automation/outbox/attempts.ts',
    [
      {
        id: 'sent-without-the-lease',
        rule: 'Right before each request a process looks at its lease and its hold.',
        find: `    const mayBegin = (): boolean => mayAct() && ageMs(time, claimed) < attemptMs;`,
        replace: `    const mayBegin = (): boolean => ageMs(time, claimed) < attemptMs;`,
      },
      {
        id: 'sent-after-the-hold',
        rule: 'A hold that is too old sends nothing.',
        find: `    const mayBegin = (): boolean => mayAct() && ageMs(time, claimed) < attemptMs;`,
        replace: `    const mayBegin = (): boolean => mayAct() && ageMs(time, claimed) >= 0;`,
      },
      {
        id: 'blocked-session-gets-answers',
        rule: 'After a handoff no answer of the agent is sent.',
        find: `      if (closed !== undefined) throw new Unsendable(\`Not sent: \${closed}.\`);`,
        replace: ``,
        tests: ['test/integration/automation/refused-answers.test.ts'],
      },
      {
        id: 'running-attempt-goes-on',
        rule: 'A handoff breaks a running attempt off.',
        find: `        (closed) => closed !== undefined && stop.abort(new Unsendable(\`Broken off: \${closed}.\`)),`,
        replace: `        () => undefined,`,
        tests: ['test/integration/automation/refused-answers.test.ts'],
      },
    ],
    outbox,
  ),
  ...mutantsOf(
    'src/automation/outbox/retry.ts',
    [
      {
        id: 'client-errors-repeated',
        rule: 'An answer that refuses for good is not repeated.',
        find: `result.status === 429 || result.status >= 500;`,
        replace: `result.status >= 400;`,
      },
      {
        id: 'retry-after-ignored',
        rule: 'A receiver that asks for a pause gets it.',
        find: `  return { waitMs: Math.max(asked, Math.round(wait * (0.9 + options.fraction * 0.2))) };`,
        replace: `  return { waitMs: Math.max(0 * asked, Math.round(wait * (0.9 + options.fraction * 0.2))) };`,
      },
    ],
    outbox,
  ),
  ...mutantsOf(
    'src/automation/outbox/deliveries.store.ts',
    [
      {
        id: 'started-delivery-claimed-again',
        rule: 'A chunk that a process has started is not started by another.',
        find: `status = 'pending' and chunk = \${chunk} and attempts = 0`,
        replace: `status = 'pending' and chunk = \${chunk}`,
      },
      {
        id: 'quiet-while-sending',
        rule: 'A session is quiet only when no attempt is in progress.',
        find: `      and d.execution_id is not null and a.chunk = d.chunk and a.attempt = d.attempts and a.finished_at is null`,
        replace: `      and d.execution_id is null and a.chunk = d.chunk and a.attempt = d.attempts and a.finished_at is null`,
        tests: ['test/integration/automation/refused-answers.test.ts'],
      },
      {
        id: 'delivered-revived',
        rule: 'Only a failed delivery is revived.',
        find: `where tenant_id = \${tenantId} and id = \${id} and status = 'delivery_failed' returning`,
        replace: `where tenant_id = \${tenantId} and id = \${id} returning`,
        tests: ['test/integration/automation/refused-answers.test.ts'],
      },
    ],
    outbox,
  ),
  ...mutantsOf(
    'src/conversations/sessions/ending-activation.ts',
    [
      {
        id: 'lost-answer-counts-as-unfinished',
        rule: 'A write whose answer was lost says nothing about the turn: the activation ends.',
        find: `    this.#inner.end('failed');
    throw new ClusterError(`,
        replace: `    if (committed.outcome === 'result_lost') return { finishedBefore: new Set() };
    throw new ClusterError(`,
      },
      {
        id: 'refused-write-keeps-the-memory',
        rule: 'A refused write ends the activation, whose memory is ahead of the store.',
        find: `      this.#time.soon(() => this.#inner.end('failed'));`,
        replace: ``,
        tests: ['test/unit/conversations/sessions/ending-activation.test.ts'],
      },
      {
        id: 'refused-turn-not-ended',
        rule: 'A turn whose write the store refuses ends.',
        find: `      await ifRefused?.(this.#inner, error);`,
        replace: `      if (ifRefused === undefined) return;`,
        tests: ['test/unit/conversations/sessions/ending-activation.test.ts'],
      },
    ],
    turns,
  ),
  ...mutantsOf(
    'src/conversations/sessions/turn-queue.ts',
    [
      {
        id: 'ended-turn-queued-again',
        rule: 'A turn that has ended does not run again.',
        find: `    if (finishedBefore.has(turn.row.id)) state.drop(turn);`,
        replace: ``,
      },
      {
        id: 'turn-told-before-its-commit',
        rule: 'A turn is durable before its caller is told.',
        find: `  await turn.accepted;
  return state.turn`,
        replace: `  return state.turn`,
      },
      {
        id: 'queue-without-bound',
        rule: 'A session holds a bounded number of waiting turns.',
        find: `  if (state.queue.length > waitingMax) {`,
        replace: `  if (state.queue.length > waitingMax * 1_000) {`,
      },
    ],
    turns,
  ),
  ...mutantsOf(
    'src/conversations/sessions/turn-worker.ts',
    [
      {
        id: 'finished-turn-claimed',
        rule: 'A claim of a turn that has ended ends the activation.',
        find: `    if (finishedBefore.has(turn.row.id)) {`,
        replace: `    if (finishedBefore.has('')) {`,
        tests: ['test/integration/conversations/sessions/commits-of-a-turn.test.ts'],
      },
      {
        id: 'handoff-after-the-check',
        rule: 'No await lies between the check of the control mode and the claim.',
        find: `    if (this.#state.session?.control_mode !== 'engaged') return this.#stop(turn, ended('SUSPENDED'));`,
        replace: ``,
        tests: ['test/integration/conversations/sessions/handoff-answers.test.ts'],
      },
      {
        id: 'ended-before-the-commit',
        rule: 'Readers get the end of a turn after its commit.',
        find: `    const shown = Promise.all([written, ...turn.ledgerWrites]).then(() => {`,
        replace: `    const shown = Promise.resolve().then(() => {`,
        tests: ['test/integration/conversations/sessions/commits-of-a-turn.test.ts'],
      },
      {
        id: 'stamp-left-behind',
        rule: 'The end of a turn frees the stamp.',
        find: `        ...(holdsStamp && { stamp: { set: 'free' } as const }),`,
        replace: `        ...(holdsStamp && {}),`,
      },
    ],
    turns,
  ),
  ...mutantsOf(
    'src/conversations/sessions/turn-checks.ts',
    [
      {
        id: 'poison-turn-runs-for-ever',
        rule: 'A turn whose processes died too often fails.',
        find: `  if (lost >= attemptsMax) {`,
        replace: `  if (lost >= attemptsMax * 1_000) {`,
        tests: ['test/unit/conversations/sessions/turn-checks.test.ts'],
      },
    ],
    turns,
  ),
  ...mutantsOf(
    'src/conversations/sessions/session.store.ts',
    [
      {
        id: 'outcome-overwritten',
        rule: 'An outcome is final.',
        find: `  guard: 'executions.outcome is null',
`,
        replace: ``,
      },
    ],
    turns,
  ),
  ...mutantsOf(
    'src/models/usage/ledger.ts',
    [
      {
        id: 'unrecorded-attempt-made',
        rule: 'An attempt that cannot be recorded is not made.',
        find: `'outcome-unknown') this.#withdrawLater(opened);
      throw refusal(error);`,
        replace: `'outcome-unknown') this.#withdrawLater(opened);`,
      },
      {
        id: 'unaccepted-closing-forgotten',
        rule: 'A closing that the store did not accept is written later.',
        find: `      this.#closeLater(both);`,
        replace: ``,
      },
      {
        id: 'lost-row-not-opened-again',
        rule: 'A row that PostgreSQL lost is written again.',
        find: `    if ((await this.#rows.write(row)) === 'booked' || opened === undefined) return;`,
        replace: `    if ((await this.#rows.write(row)) !== undefined || opened === undefined) return;`,
      },
      {
        id: 'orphans-stay-open',
        rule: 'Rows that a lost process left open are closed.',
        find: `      await Promise.all(orphans.map((orphan) => this.#orphans.write(orphan)));`,
        replace: ``,
      },
      {
        id: 'rows-of-the-dead-wait',
        rule: 'Rows of a process that is surely gone need not wait for their deadline.',
        find: `    return isGone === undefined ? [] : (await rows.processes()).filter(isGone);`,
        replace: `    return isGone === undefined ? [] : (await rows.processes()).slice(0, 0).filter(isGone);`,
      },
      {
        id: 'withdrawn-call-stays',
        rule: 'A call that was not made leaves no open row.',
        find: `      await this.#parts.rows.remove(opened);`,
        replace: `      await Promise.resolve(opened);`,
      },
    ],
    usage,
  ),
];
