// A turn may have more events than one message between nodes may hold.

import test from 'ava';
import { clusterConfig } from '../../../../cluster/config.js';
import { volatileActor } from '../../../../cluster/activation/kind.js';
import type { Call } from '../../../../cluster/activation/call.js';
import {
  type FollowRequest,
  SessionServiceDefinition,
  type WatchRequest,
} from '../../../../generated/troupe/actors/v1/session.js';
import { follow } from '../../../../src/conversations/sessions/event-reader.js';
import { LiveTurn } from '../../../../src/conversations/sessions/live-turn.js';
import type { ExecutionRow } from '../../../../src/conversations/sessions/rows.js';
import { SessionState } from '../../../../src/conversations/sessions/session-state.js';
import { watch, watchOn } from '../../../../src/conversations/sessions/session-watch.js';
import { SimulatedCluster } from '../../../support/servers/simulated-cluster.js';

const { messageBytesMax } = clusterConfig();

/** The part of the sessions' service that readers use. */
const readersService = {
  name: 'Readers',
  fullName: 'test.Readers',
  methods: {
    follow: SessionServiceDefinition.methods.follow,
    watch: SessionServiceDefinition.methods.watch,
  },
} as const;

/** Two nodes, and a session whose running turn has more than one message holds; `text` is repeated in its events. */
async function largeTurn(text: string) {
  const cluster = new SimulatedCluster();
  const loaded = { session: undefined, messages: [], unfinished: [], steps: [], approvals: [] };
  const state = new SessionState(loaded, 1, cluster.time, () => undefined);
  const input = { message: '', declared_context: {} };
  const turn = new LiveTurn({ id: 'e', status: 'running', outcome: null, input } as ExecutionRow, 1);
  const bytes = Buffer.byteLength(text);
  for (let sent = 0; sent <= messageBytesMax * 1.2; sent += bytes) {
    turn.log.append({ type: 'delta', content: text });
  }
  state.add(turn);
  let readers = 0;
  const counted = async function* <Message>(messages: AsyncGenerator<Message>) {
    readers += 1;
    try {
      yield* messages;
    } finally {
      readers -= 1;
    }
  };
  const kind = volatileActor({
    service: readersService,
    methods: { follow: { lane: 'control' }, watch: { lane: 'control', resume: watchOn } },
    create: () => ({
      follow: ({ after, follower }: FollowRequest, call: Call) =>
        counted(
          follow(
            {
              turn,
              after,
              follower,
              joined: true,
              readers: state.readers,
              time: cluster.time,
              leaving: () => false,
            },
            call,
          ),
        ),
      watch: (from: WatchRequest, call: Call) => counted(watch(state, from, call, () => false)),
    }),
  });
  for (const name of ['n1', 'n2']) await cluster.add(cluster.host(name), [kind]);
  await cluster.join();
  const sessions = cluster.nodes.map(({ node }) => node.actor(kind, 'acme', 'large'));
  return { cluster, turn, sessions, readers: () => readers };
}

for (const { what, text } of [
  { what: 'few events of much text', text: 'é'.repeat(100_000) },
  { what: 'many events', text: 'x'.repeat(2_000) },
]) {
  test(`readers at every node get all of a large turn so far, and leave nothing behind: ${what}`, async (t) => {
    const { cluster, turn, sessions, readers } = await largeTurn(text);
    for (const session of sessions) {
      for (const open of [
        () => session.watch({ executionId: '', after: 0, others: undefined }),
        () => session.follow({ executionId: 'e', after: 0, follower: 'f' }),
      ]) {
        const ids: number[] = [];
        const all = (async () => {
          for await (const { events } of open()) {
            ids.push(...events.map(({ id }) => id));
            if (ids.length >= turn.log.events.length) return;
          }
        })();
        await cluster.settle(all);
        t.deepEqual(
          ids,
          turn.log.events.map(({ id }) => id),
        );
        await cluster.time.advance(100);
        t.is(readers(), 0);
      }
    }
  });
}
