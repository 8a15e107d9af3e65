import { mutantsOf } from '../mutant.js';

const noticed = {
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

/** Messages that wait for their turn. */
export const inbox = [
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
        id: 'message-overtakes-another-node',
        rule: 'A message waits for older ones of its session that wait on other nodes.',
        find: `o.state = 'running' and o.seq < i.seq`,
        replace: `o.state = 'running' and o.seq > i.seq`,
        tests: ['test/integration/automation/message-order.test.ts'],
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
    noticed,
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
        find: `    if (runsAgain) this.#beginAgain(again, storeAgainMs);`,
        replace: `    if (runsAgain && item.attempts < 0) this.#beginAgain(again, storeAgainMs);`,
      },
      {
        id: 'erased-message-runs',
        rule: 'A message that waited in memory gets no turn if its row is gone.',
        find: `    if (read === undefined) return this.#lines.passed(waiting.item);
    if (read === 'behind') return this.#lookAgain(waiting);
    const { item, rest } = read;`,
        replace: `    if (read === 'behind') return this.#lookAgain(waiting);
    const { item, rest } = read ?? { item: waiting.item, rest: undefined };`,
        tests: ['test/unit/automation/store-away.test.ts'],
      },
      {
        id: 'refused-message-given-up',
        rule: 'A message that its session refuses for now is put off.',
        find: `    if (mayBeAccepted && ageMs < patienceMs) return true;`,
        replace: `    if (mayBeAccepted && ageMs < 0) return true;`,
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
    noticed,
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
    noticed,
  ),
  ...mutantsOf(
    'src/automation/inbox/session-lines.ts',
    [
      {
        id: 'messages-of-a-session-at-once',
        rule: 'The messages of a session begin one after the other.',
        find: `    if (place === 0) this.#beginFirst(line);`,
        replace: `    this.#parts.begin(waiting);`,
        tests: ['test/unit/automation/session-lines.test.ts'],
      },
      {
        id: 'message-waits-for-a-newer-one',
        rule: 'A message waits for older ones of its session only.',
        find: `seqOf(entry.waiting) <= seqOf(waiting)`,
        replace: `seqOf(entry.waiting) > 0`,
        tests: ['test/unit/automation/session-lines.test.ts'],
      },
    ],
    noticed,
  ),
  ...mutantsOf(
    'src/automation/inbox/behind.store.ts',
    [
      {
        id: 'older-messages-not-told',
        rule: 'A message is told at its acceptance whether older ones of its session run.',
        find: `o.seq < trigger_inbox.seq`,
        replace: `o.seq > trigger_inbox.seq`,
        tests: ['test/integration/automation/message-order.test.ts'],
      },
    ],
    noticed,
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
    noticed,
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
    noticed,
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
