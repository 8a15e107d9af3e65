import test, { type ExecutionContext } from 'ava';
import { clusterConfig, type ClusterConfig } from '../../../../cluster/config.js';
import { ClusterError } from '../../../../cluster/errors.js';
import { viewNumber } from '../../../../cluster/ids/ids.js';
import { Assembler } from '../../../../cluster/links/assembler.js';
import { LinkTroubles, type LinkTrouble } from '../../../../cluster/links/link-troubles.js';
import type { Frame } from '../../../../cluster/links/pipe.js';
import { ServerSession } from '../../../../cluster/links/server-session.js';
import { Mode, type Call } from '../../../../generated/troupe/cluster/v1/link.js';
import { recordedPipe } from '../../../support/builders/recorded-pipe.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';

const noHandle = { cancel() {}, grant() {}, detach() {} };

/** The answering end of an open link; the test sends its frames directly. */
class Served {
  readonly time = new ManualTime('2026-01-01T00:00:00Z');
  readonly #recorded = recordedPipe();
  readonly sent = this.#recorded.sent;
  readonly closed = this.#recorded.closed;
  received = 0;
  readonly #session: ServerSession;
  #onFrames: (frames: readonly Frame[]) => void = () => undefined;

  constructor(t: ExecutionContext, changes: Partial<ClusterConfig>) {
    const greeted = {
      pipe: this.#recorded.pipe,
      peer: 'peer',
      protocol: 1,
      attach: (onFrames: (frames: readonly Frame[]) => void) => {
        this.#onFrames = onFrames;
      },
    };
    this.#session = new ServerSession(greeted, this.time, clusterConfig(changes), {
      mayAct: () => true,
      view: () => ({ number: viewNumber(1), hash: 'h' }),
      heardOfView() {},
      receive: () => {
        this.received += 1;
        return noHandle;
      },
      onClosed() {},
    });
    t.teardown(() => this.#session.close());
  }

  feed(...frames: Frame['frame'][]): void {
    this.#onFrames(frames.map((frame) => ({ frame })));
  }

  /** Ends a turn of the event loop, at which waiting frames are written. */
  turn(): Promise<void> {
    return new Promise((resolve) => {
      setImmediate(resolve);
    });
  }

  get tags(): readonly string[] {
    return this.closed.map((error) => (error instanceof ClusterError ? error.tag : String(error)));
  }
}

function call(id: number, changes: Partial<Call> = {}): Frame['frame'] {
  const value: Call = {
    id,
    method: 1,
    group: '',
    key: '',
    body: new Uint8Array(0),
    more: false,
    deadlineMs: 1_000,
    requestId: 'r',
    traceparent: '',
    tracestate: '',
    callerGroup: '',
    chain: [],
    credit: 0,
    mode: Mode.ROUTED,
    repeatable: false,
    ...changes,
  };
  return { $case: 'call', value };
}

const method = (number: number): Frame['frame'] => ({
  $case: 'method',
  value: { number, kind: 'test.Kind', name: 'm' },
});

test('calls above the limit of running calls per peer are refused as overload', async (t) => {
  const served = new Served(t, { linkCallsMax: 3 });
  served.feed(method(1), call(1), call(2), call(3), call(4));
  await served.turn();
  t.is(served.received, 3);
  t.deepEqual(served.closed, []);
  const [answer] = served.sent;
  t.is(answer?.frame?.$case === 'failure' ? answer.frame.value.id : 0, 4);
});

test('a peer that names too many methods loses its link', (t) => {
  const served = new Served(t, { linkMethodsMax: 3 });
  served.feed(...[1, 2, 3].map(method));
  t.deepEqual(served.tags, []);
  served.feed(method(4));
  t.deepEqual(served.tags, ['protocol_violation']);
});

test('a peer that starts bodies without completing them loses its link before they fill the memory', (t) => {
  const served = new Served(t, { messageBytesMax: 1_000_000, linkAssemblyBytes: 1_000_001 });
  served.feed(method(1));
  const body = new Uint8Array(1_000);
  for (let id = 1; id < 2_000 && served.closed.length === 0; id += 1)
    served.feed(call(id, { body, more: true }));
  t.deepEqual(served.tags, ['message_too_large']);
  t.is(served.received, 0);
});

test('empty chunks count with their memory cost', (t) => {
  const served = new Served(t, { messageBytesMax: 100_000, linkAssemblyBytes: 200_000 });
  served.feed(method(1), call(1, { more: true }));
  const chunk: Frame['frame'] = { $case: 'chunk', value: { id: 1, body: new Uint8Array(0), more: true } };
  for (let sent = 0; sent < 2_000 && served.closed.length === 0; sent += 1) served.feed(chunk);
  t.deepEqual(served.tags, ['message_too_large']);
});

test('a peer that pings without reading does not fill the queue', async (t) => {
  const served = new Served(t, { linkQueueBytes: 5_000_000 });
  for (let sent = 0; sent < 400; sent += 1)
    served.feed(...Array.from({ length: 1_000 }, (): Frame['frame'] => ({ $case: 'ping', value: {} })));
  for (let turns = 0; turns < 100; turns += 1) await served.turn();
  t.true(served.sent.length * 32 <= 5_100_000, `${served.sent.length} answers`);
});

test('completed and forgotten bodies no longer count in the assembler', (t) => {
  const assembler = new Assembler<string>({ messageBytesMax: 1_000, bytesMax: 3_000 });
  for (let id = 1; id <= 100; id += 1) {
    assembler.begin(id, 'first', new Uint8Array(500));
    if (id % 2 === 0) assembler.forget(id);
    else t.is(assembler.add(id, new Uint8Array(400), false)?.body.length, 900);
  }
  t.throws(() => assembler.begin(200, 'first', new Uint8Array(1_001)), { instanceOf: ClusterError });
});

test('link troubles are reported up to a limit per minute, then counted', (t) => {
  const time = new ManualTime('2026-01-01T00:00:00Z');
  const reported: LinkTrouble[] = [];
  const troubles = new LinkTroubles(time, (trouble) => reported.push(trouble));
  for (let count = 0; count < 1_000; count += 1) troubles.tell('p', new ClusterError('wrong_secret', 'x'));
  troubles.tell('p', new ClusterError('peer_lost', 'normal'));
  t.is(reported.length, 10);
  time.advance(60_000);
  troubles.tell('p', new ClusterError('bad_message', 'y'));
  t.is(reported.at(-1)?.leftOut, 990);
});
