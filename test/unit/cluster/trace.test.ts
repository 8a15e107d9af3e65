// The checker of traces: it accepts what the model allows, and names the transition of the first step that it does not.

import test from 'ava';
import { clusterConfig } from '../../../cluster/config.js';
import { processId, type ProcessId } from '../../../cluster/ids/ids.js';
import { checkTraces } from '../../../cluster/trace/check.js';
import type { ProtocolEvent, Traced } from '../../../cluster/trace/events.js';

const config = clusterConfig();
const [a, b, c] = ['a', 'b', 'c'].map(processId) as [ProcessId, ProcessId, ProcessId];
const members = [a, b, c];

function by(process: ProcessId, ...steps: readonly (readonly [number, ProtocolEvent])[]): Traced[] {
  return steps.map(([ms, event]) => ({ ...event, process, at: instant(ms) }));
}

function instant(ms: number) {
  return { monotonicMs: ms, wallMs: 1_700_000_000_000 + ms };
}

const renew = (ms: number): ProtocolEvent => ({ event: 'renew', generation: 'g', from: instant(ms) });
const renewing = (renewals: number, promisedMs = 0): ProtocolEvent => ({
  event: 'renewing',
  renewals,
  promisedMs,
  holds: 1,
  leaving: false,
});
const publish = (view: number, of: readonly ProcessId[], follows = view - 1): ProtocolEvent => ({
  event: 'publish',
  view,
  members: of,
  follows,
});
const adopt = (view: number, of: readonly ProcessId[]): ProtocolEvent => ({
  event: 'adopt',
  view,
  members: of,
});
const promise = (to: ProcessId, view = 1): ProtocolEvent => ({ event: 'promise', to, view, forMs: 5_000 });
const confirm = (ms: number): ProtocolEvent => ({ event: 'confirm', view: 1, from: instant(ms) });
const read = (number: number): ProtocolEvent => ({ event: 'seized_read', number });
const acquire = (epoch: number, revision: number, over: ProcessId[] = []): ProtocolEvent => ({
  event: 'acquire',
  actor: 'x',
  epoch,
  revision,
  over,
});
const write = (epoch: number, revision: number): ProtocolEvent => ({
  event: 'write',
  actor: 'x',
  epoch,
  revision,
});
const effect = (epoch: number): ProtocolEvent => ({ event: 'effect', actor: 'x', epoch });
const handOver = (epoch: number): ProtocolEvent => ({ event: 'hand_over', actor: 'x', epoch });
const gone = (peer: ProcessId, seen: Record<ProcessId, number>, seized = 0): ProtocolEvent => ({
  event: 'gone',
  peer,
  because: 'silence',
  wasFree: false,
  generation: 'g',
  seized,
  seen,
  unbound: [],
  present: true,
});

const start: readonly (readonly [number, ProtocolEvent])[] = [
  [0, renewing(1)],
  [1, renew(0)],
];
const joined = (process: ProcessId): Traced[] =>
  by(process, ...start, ...(process === a ? [[2, publish(1, members)] as const] : []), [
    3,
    adopt(1, members),
  ]);
const all = [...joined(a), ...joined(b), ...joined(c)];
/** Two of three lose Redis and confirm each other. */
const confirming = [
  ...by(
    b,
    [2_100, promise(c)],
    [2_101, { event: 'promised', by: c }],
    [2_101, read(0)],
    [2_102, confirm(2_100)],
  ),
  ...by(
    c,
    [2_100, promise(b)],
    [2_101, { event: 'promised', by: b }],
    [2_101, read(0)],
    [2_102, confirm(2_100)],
  ),
];

const allowed: Readonly<Record<string, readonly Traced[]>> = {
  'a turn that moves': [
    ...by(a, [10, acquire(1, 0)], [20, effect(1)], [30, write(1, 1)], [40, handOver(1)]),
    ...by(b, [10, acquire(2, 1, [a])], [20, effect(2)]),
  ],
  'a turn beside the end of a process that leaves in order': [
    ...by(
      b,
      [10, acquire(1, 0)],
      [20, effect(1)],
      [21, { ...renewing(2), leaving: true } as ProtocolEvent],
      [30, handOver(1)],
    ),
    ...by(a, [22, publish(2, [a, c])], [23, adopt(2, [a, c])], [31, acquire(2, 0)], [32, effect(2)]),
  ],
  'two that confirm each other': confirming,
  'one that has left the view and goes on until its turns have ended, since all of the view promise': [
    ...by(a, [100, publish(2, [a, b])], [101, adopt(2, [a, b])], [2_100, promise(c, 2)]),
    ...by(b, [101, adopt(2, [a, b])], [2_100, promise(c, 2)]),
    ...by(
      c,
      [99, { ...renewing(2), leaving: true } as ProtocolEvent],
      [101, adopt(2, [a, b])],
      [2_101, { event: 'promised', by: a }],
      [2_101, { event: 'promised', by: b }],
      [2_102, { ...confirm(2_100), view: 2 } as ProtocolEvent],
    ),
  ],
  'a silent process whose confirmation was promised by one that is free again': [
    ...confirming,
    ...by(c, [7_200, renewing(2)]),
    ...by(a, [8_000, gone(b, { [b]: 1, [c]: 2 })]),
  ],
  'a silent majority after a seizure': [...confirming, ...by(a, [9_000, gone(b, { [b]: 1, [c]: 1 }, 2)])],
};

for (const [what, steps] of Object.entries(allowed)) {
  test(`the model allows ${what}`, (t) => {
    t.is(checkTraces([...all, ...steps], config).refused?.reason, undefined);
  });
}

const broken: readonly (readonly [what: string, transition: string, steps: readonly Traced[]])[] = [
  ['an expired right to act comes back', 'Renew', by(a, [5_000, renew(4_900)])],
  ['a process that reaches Redis confirms another', 'Confirm', by(b, [100, promise(c)])],
  ['a process that was in no view is confirmed', 'Confirm', by(b, [2_100, promise(processId('d'))])],
  ['a promise arrives that nobody gave', 'Confirm', by(b, [2_100, { event: 'promised', by: c }])],
  ['a process goes on without a majority', 'Confirm', by(b, [2_101, read(0)], [2_102, confirm(2_100)])],
  [
    'a process goes on although a number was seized',
    'Confirm',
    [
      ...by(b, [2_101, { event: 'promised', by: c }], [2_101, read(2)], [2_102, confirm(2_100)]),
      ...by(c, [2_100, promise(b)]),
    ],
  ],
  ['a number names two views', 'Remove, Join, Leave, Renumber', by(b, [10, publish(1, [b], 0)])],
  [
    'a promise is ignored by its giver',
    'Renew: a new view',
    [...by(b, [2_100, promise(c)], [2_200, adopt(2, [a, b])]), ...by(a, [2_100, publish(2, [a, b])])],
  ],
  ['a view is adopted that nobody published', 'Renew: a new view', by(b, [10, adopt(2, [b])])],
  [
    'a view excludes a process that goes on',
    'Renew: a new view',
    [...by(a, [10, publish(2, [a, b])]), ...by(c, [20, adopt(2, [a, b])])],
  ],
  [
    'a process is held for gone that its peers confirm',
    'learn',
    [...confirming, ...by(a, [8_000, gone(b, { [b]: 1, [c]: 1 })])],
  ],
  [
    'a process is held for gone and renews',
    'learn',
    [...by(b, [1_000, renewing(2)], [1_001, renew(1_000)]), ...by(a, [7_000, gone(b, { [b]: 1 })])],
  ],
  [
    'an epoch is raised over a turn that goes on',
    'Activate',
    [...by(a, [10, acquire(1, 0)]), ...by(b, [20, acquire(2, 0, [a])])],
  ],
  [
    'two processes take one epoch',
    'Activate',
    [...by(a, [10, acquire(1, 0)]), ...by(b, [20, acquire(1, 0)])],
  ],
  [
    'an older epoch writes',
    'Commit',
    [...by(a, [10, acquire(1, 0)], [90, write(1, 1)]), ...by(b, [20, acquire(2, 0)])],
  ],
  ['an effect after the right to act', 'An outside effect', by(a, [10, acquire(1, 0)], [3_600, effect(1)])],
  [
    'an effect after the lease was given up',
    'An outside effect',
    by(a, [10, acquire(1, 0)], [20, { event: 'fence', reason: 'r' }], [30, effect(1)]),
  ],
  [
    'an effect after the hand over',
    'An outside effect',
    by(a, [10, acquire(1, 0)], [20, handOver(1)], [30, effect(1)]),
  ],
  [
    'an effect before a process that left is surely gone',
    'An outside effect',
    by(a, [10, publish(2, [a, b])], [11, adopt(2, [a, b])], [20, acquire(1, 0)], [30, effect(1)]),
  ],
  [
    'an effect before a process that leaves in order has ended its turn',
    'An outside effect',
    [
      ...by(
        b,
        [10, acquire(1, 0)],
        [20, effect(1)],
        [21, { ...renewing(2), leaving: true } as ProtocolEvent],
      ),
      ...by(a, [22, publish(2, [a, c])], [23, adopt(2, [a, c])], [31, acquire(2, 0)], [32, effect(2)]),
    ],
  ],
  [
    'an effect after the turn of a process that left, but does not leave in order',
    'An outside effect',
    [
      ...by(b, [10, acquire(1, 0)], [20, effect(1)], [30, handOver(1)]),
      ...by(a, [22, publish(2, [a, c])], [23, adopt(2, [a, c])], [31, acquire(2, 0)], [32, effect(2)]),
    ],
  ],
];

for (const [what, transition, steps] of broken) {
  test(`the checker refuses the step: ${what}`, (t) => {
    const { refused } = checkTraces([...all, ...steps], config);
    t.is(refused?.transition, transition, refused?.reason);
  });
}
