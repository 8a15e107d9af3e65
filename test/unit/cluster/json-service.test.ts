import test from 'ava';
import { answers, jsonService, streams, volatileActor } from '../../../cluster/index.js';
import { SimulatedCluster } from '../../support/servers/simulated-cluster.js';

const roomService = jsonService('test.v1.Room', {
  say: answers<{ text: string; of?: string }, { said: readonly string[] }>(),
  said: streams<{ after: number }, { number: number; text: string }>(),
});

const room = volatileActor({
  service: roomService,
  methods: {
    said: { resume: (input, last) => ({ ...input, after: last.number }) },
  },
  create: () => {
    const lines: string[] = [];
    return {
      say({ text, of = 'nobody' }) {
        lines.push(`${of}: ${text}`);
        return { said: [...lines] };
      },
      async *said({ after }) {
        for (const [number, text] of lines.entries()) if (number > after) yield { number, text };
      },
    };
  },
});

test('actors of a service described in TypeScript are called and streamed from every node', async (t) => {
  const cluster = new SimulatedCluster();
  for (const name of ['n1', 'n2', 'n3']) await cluster.add(cluster.host(name), [room]);
  await cluster.join();
  const said: string[] = [];
  for (const { node } of cluster.nodes) {
    const reference = node.actor(room, 'acme', 'lobby');
    said.push(`${node.process}: grüße 👋`);
    const answer = await cluster.settle(reference.say({ text: 'grüße 👋', of: node.process }));
    t.deepEqual(answer, { said });
    const read: string[] = [];
    await cluster.settle(
      (async () => {
        for await (const { text } of reference.said({ after: -1 })) read.push(text);
      })(),
    );
    t.deepEqual(read, said);
  }
});

test('bytes that are no JSON text are refused', (t) => {
  const { requestType } = roomService.methods.say;
  t.throws(() => requestType.decode(Uint8Array.of(0xff)), { instanceOf: TypeError });
  t.throws(() => requestType.decode(new TextEncoder().encode('{"text"')), { instanceOf: SyntaxError });
});
