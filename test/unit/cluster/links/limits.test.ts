import test, { type ExecutionContext } from 'ava';
import { clusterConfig, type ClusterConfig } from '../../../../cluster/config.js';
import { ClusterError } from '../../../../cluster/errors.js';
import { actorKind, epoch, processId, viewNumber } from '../../../../cluster/ids/ids.js';
import { Assembler } from '../../../../cluster/links/assembler.js';
import { CallerSession } from '../../../../cluster/links/caller-session.js';
import { LinkTroubles, type LinkTrouble } from '../../../../cluster/links/link-troubles.js';
import type { Frame } from '../../../../cluster/links/pipe.js';
import { processQuestion } from '../../../../cluster/links/process-question.js';
import { ServerSession, type IncomingAnswer } from '../../../../cluster/links/server-session.js';
import { callFrame } from '../../../support/builders/call-frame.js';
import { recordedPipe } from '../../../support/builders/recorded-pipe.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';

const noHandle = { cancel() {}, grant() {}, detach() {} };

/** The answering end of an open link; the test sends its frames directly. */
class Served {
  readonly time = new ManualTime('2026-01-01T00:00:00Z');
  readonly #recorded = recordedPipe();
  readonly sent = this.#recorded.sent;
  readonly closed = this.#recorded.closed;
  readonly answers: IncomingAnswer[] = [];
  received = 0;
  cancelled = 0;
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
      receive: ({ answer }) => {
        this.received += 1;
        this.answers.push(answer);
        return { ...noHandle, cancel: () => (this.cancelled += 1) };
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

  /** Each answer that was sent, with its call; a failure with its code. */
  get outcomes(): readonly string[] {
    return this.sent.flatMap(({ frame }) => {
      if (frame?.$case === 'failure') return [`failure ${frame.value.id}: ${frame.value.code}`];
      return frame?.$case === 'reply' || frame?.$case === 'item' ? [`${frame.$case} ${frame.value.id}`] : [];
    });
  }

  get tags(): readonly string[] {
    return this.closed.map((error) => (error instanceof ClusterError ? error.tag : String(error)));
  }
}

const method = (number: number): Frame['frame'] => ({
  $case: 'method',
  value: { number, kind: 'test.Kind', name: 'm' },
});

test('calls above the limit of running calls per peer are refused as overload', async (t) => {
  const served = new Served(t, { linkCallsMax: 3 });
  served.feed(method(1), callFrame(1), callFrame(2), callFrame(3), callFrame(4));
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
    served.feed(callFrame(id, { body, more: true }));
  t.deepEqual(served.tags, ['message_too_large']);
  t.is(served.received, 0);
});

test('empty chunks count with their memory cost', (t) => {
  const served = new Served(t, { messageBytesMax: 100_000, linkAssemblyBytes: 200_000 });
  served.feed(method(1), callFrame(1, { more: true }));
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

test('an answer that does not fit the queue to its peer fails as overload, and new calls are refused', async (t) => {
  const served = new Served(t, { messageBytesMax: 1_000, linkQueueBytes: 1_000, linkAnswerBytes: 1_000 });
  served.feed(method(1), callFrame(1), callFrame(2));
  served.answers[0]?.reply(new Uint8Array(900), epoch(0));
  served.answers[1]?.reply(new Uint8Array(900), epoch(0));
  served.feed(callFrame(3));
  t.is(served.received, 2);
  await served.turn();
  t.deepEqual(served.outcomes, ['reply 1', 'failure 2: 11', 'failure 3: 11']);
  // The answers have left.
  served.feed(callFrame(4));
  t.is(served.received, 3);
});

test('a stream that is not read fails as overload and stops', async (t) => {
  const served = new Served(t, { messageBytesMax: 1_000, linkQueueBytes: 1_000, linkAnswerBytes: 1_000 });
  served.feed(method(1), callFrame(1, { credit: 1 }));
  const [answer] = served.answers;
  for (let sent = 0; sent < 5; sent += 1) answer?.item(new Uint8Array(400));
  await served.turn();
  t.deepEqual(served.outcomes, ['item 1', 'item 1', 'failure 1: 11']);
  t.is(served.cancelled, 1);
});

test('a peer that reads none of its answers loses its link', (t) => {
  const served = new Served(t, { messageBytesMax: 1_000, linkQueueBytes: 1_000, linkAnswerBytes: 1_000 });
  served.feed(method(1));
  for (let id = 1; id < 1_000 && served.closed.length === 0; id += 1) {
    served.feed(callFrame(id));
    served.answers.at(-1)?.fail(new ClusterError('handler_failed', 'no'));
  }
  t.deepEqual(served.tags, ['overloaded']);
});

test('of a batch that closes its link, the later calls do not run', (t) => {
  const served = new Served(t, { messageBytesMax: 1_000, linkQueueBytes: 1_000, linkAnswerBytes: 1_000 });
  served.feed(method(1), callFrame(1), callFrame(2));
  served.answers[0]?.reply(new Uint8Array(980), epoch(0));
  // No answer fits any more: each call is refused, and the refusals fill the queue.
  served.feed(...Array.from({ length: 1_000 }, (_, index) => callFrame(index + 3)));
  t.deepEqual(served.tags, ['overloaded']);
  t.is(served.received, 2);
});

test('of a batch whose answer closes the link, the caller reads no more', (t) => {
  let feed: (frames: readonly Frame[]) => void = () => undefined;
  const greeted = {
    pipe: recordedPipe().pipe,
    peer: 'peer',
    protocol: 1,
    attach: (onFrames: typeof feed) => {
      feed = onFrames;
    },
  };
  const heard: unknown[] = [];
  const time = new ManualTime('2026-01-01T00:00:00Z');
  const session = new CallerSession(processId('peer'), greeted, time, clusterConfig(), {
    mayAct: () => true,
    view: () => ({ number: viewNumber(1), hash: 'h' }),
    heardOfView: (name) => heard.push(name),
    onClosed() {},
    onShed() {},
  });
  const answer = {
    reply: () => session.close(new ClusterError('not_serving', 'the lease has expired')),
    fail: () => t.fail('it was answered'),
  };
  session.call(
    processQuestion({ mode: 'describe', kind: actorKind('test.Kind'), deadlineMs: 1_000, answer }),
  );
  feed([
    { frame: { $case: 'reply', value: { id: 1, body: new Uint8Array(0), more: false, epoch: 0 } } },
    { frame: { $case: 'view', value: { number: 2, hash: 'i' } } },
  ]);
  t.deepEqual(heard, []);
});
