// The real sessions, turns and ledger on simulated nodes that die, freeze, are cut off and lose their store.
import test from 'ava';
import type { Fault } from '../faults.js';
import { runConversationSeeds } from './many.js';
import type { ConversationPlant } from './plants.js';
import { runConversations } from './run.js';

/** Use `scripts/simulate.mjs --of conversations` for more. */
const seeds = 100;

test('conversations and the ledger keep their guarantees on every drawn schedule', async (t) => {
  t.timeout(600_000);
  const { failures, ...summary } = await runConversationSeeds({ from: 1, count: seeds }, 2);
  t.deepEqual(
    failures.map(({ seed, faults, violations }) => ({ seed, faults, violations })),
    [],
  );
  t.is(summary.seeds, seeds);
  t.true(summary.turns > seeds * 10, `only ${summary.turns} turns were accepted`);
  t.true(summary.effects > seeds * 20, `only ${summary.effects} effects were made`);
  t.true(summary.messages > seeds * 8, `only ${summary.messages} messages were accepted`);
  t.true(summary.callbacks > seeds * 8, `only ${summary.callbacks} answers were sent`);
});

/** A checker that finds nothing proves nothing. */
const plants: readonly {
  readonly plant: ConversationPlant;
  readonly found: RegExp;
  readonly faults: readonly Fault[];
}[] = [
  {
    plant: 'outcome_reopened',
    found: /was made after the turn had ended/,
    faults: [
      { atMs: 3_000, kind: 'kill', node: 0 },
      { atMs: 6_000, kind: 'kill', node: 1 },
      { atMs: 9_000, kind: 'kill', node: 2 },
    ],
  },
  {
    plant: 'unknown_repeated',
    found: /was repeated and must not be/,
    faults: [
      { atMs: 2_000, kind: 'kill', node: 0 },
      { atMs: 5_000, kind: 'kill', node: 1 },
      { atMs: 8_000, kind: 'kill', node: 2 },
    ],
  },
  {
    plant: 'closed_twice',
    found: /are counted as/,
    faults: [{ atMs: 1_000, kind: 'unknown_commits', forMs: 9_000 }],
  },
  { plant: 'bill_cut', found: /was billed .* its row/, faults: [] },
  {
    plant: 'never_recovered',
    found: /never ended/,
    faults: [0, 1, 2].map((node) => ({ atMs: 14_000, kind: 'kill' as const, node })),
  },
  {
    plant: 'accepted_early',
    found: /was acknowledged but is lost/,
    faults: [
      { atMs: 2_600, kind: 'store_away', node: 1, forMs: 4_000 },
      { atMs: 5_000, kind: 'kill', node: 1 },
    ],
  },
  {
    plant: 'callback_unlooked',
    found: /^\d+: callback .* (is claimed by|left after)/,
    faults: [
      { atMs: 2_000, kind: 'freeze', node: 0, forMs: 8_000 },
      { atMs: 6_000, kind: 'freeze', node: 1, forMs: 8_000 },
    ],
  },
  {
    plant: 'claims_kept',
    found: /^claims of .* remain/,
    faults: [0, 1, 2].map((node) => ({ atMs: 12_000, kind: 'kill' as const, node })),
  },
  {
    plant: 'answers_unordered',
    found: /answers message \d+ after one of message/,
    faults: [],
  },
  {
    plant: 'messages_overtake',
    found: /^the turn of webhook .* came before that of/,
    faults: [
      { atMs: 3_000, kind: 'kill', node: 0 },
      { atMs: 6_000, kind: 'kill', node: 1 },
      { atMs: 9_000, kind: 'kill', node: 2 },
    ],
  },
  {
    plant: 'message_claimed_twice',
    found: /ended with 2 executions|was answered/,
    faults: [],
  },
  {
    plant: 'no_last_look',
    found: /after a handoff was answered|after the turn had ended|An outside effect/,
    faults: [
      { atMs: 2_000, kind: 'freeze', node: 0, forMs: 8_000 },
      { atMs: 6_000, kind: 'freeze', node: 1, forMs: 8_000 },
    ],
  },
];

for (const { plant, found, faults } of plants) {
  test(`the planted bug ${plant} of conversations is found`, async (t) => {
    t.timeout(600_000);
    const violations: string[] = [];
    for (let seed = 1; seed <= 24 && !violations.some((text) => found.test(text)); seed += 1) {
      const run = { seed, faults, nodes: 3, plants: [plant], isPatient: true };
      violations.push(...(await runConversations(run)).violations);
    }
    t.true(
      violations.some((text) => found.test(text)),
      violations.join('\n'),
    );
  });
}
