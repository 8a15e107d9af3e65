import test from 'ava';
import { ClusterError } from '../../../../cluster/errors.js';
import { processId } from '../../../../cluster/ids/ids.js';
import { greet, receive, type HandshakeSettings } from '../../../../cluster/links/handshake.js';
import { spokenProtocols } from '../../../../cluster/links/protocol.js';
import type { Frame, Pipe } from '../../../../cluster/links/pipe.js';
import { systemRandom } from '../../../../cluster/time/system.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';

/** One end of a connection in memory. */
class End implements Pipe {
  other: End | undefined;
  isTrusted = false;
  closedWith: Error | undefined;
  readonly #name: string;
  readonly #change: (frame: Frame) => Frame;
  readonly #early: (readonly Frame[])[] = [];
  #onFrames: ((frames: readonly Frame[]) => void) | undefined;
  #onClose: ((error: Error | undefined) => void) | undefined;

  constructor(name: string, change: (frame: Frame) => Frame) {
    this.#name = name;
    this.#change = change;
  }

  binding(): Uint8Array {
    return Buffer.from(this.#name);
  }

  trust(): void {
    this.isTrusted = true;
  }

  write(frames: Frame[]): boolean {
    this.other?.arrive(frames.map(this.#change));
    return true;
  }

  close(error?: Error): void {
    this.closedWith ??= error;
    this.other?.gone();
  }

  onFrames(listener: (frames: readonly Frame[]) => void): void {
    this.#onFrames = listener;
    for (const frames of this.#early.splice(0)) listener(frames);
  }

  onDrain(): void {}

  onClose(listener: (error: Error | undefined) => void): void {
    this.#onClose = listener;
  }

  arrive(frames: readonly Frame[]): void {
    if (this.#onFrames === undefined) this.#early.push(frames);
    else this.#onFrames(frames);
  }

  gone(): void {
    this.#onClose?.(undefined);
  }
}

interface Meeting {
  readonly listenerBinding?: string;
  readonly listener?: Partial<HandshakeSettings>;
  /** Changes to the dialer's frames on their way, and to the listener's. */
  readonly there?: (frame: Frame) => Frame;
  readonly back?: (frame: Frame) => Frame;
}

const same = (frame: Frame): Frame => frame;
const settings: HandshakeSettings = {
  cluster: 'test',
  secret: 'secret',
  self: processId('dialer'),
  purpose: 'calls',
  timeoutMs: 1_000,
  protocols: spokenProtocols,
};

async function meet({ listenerBinding = 'a connection', listener, there = same, back = same }: Meeting = {}) {
  const time = new ManualTime('2026-01-01T00:00:00Z');
  const near = new End('a connection', there);
  const far = new End(listenerBinding, back);
  near.other = far;
  far.other = near;
  const self = processId('listener');
  const outcome = (greeting: Promise<unknown>): Promise<string> =>
    greeting.then(
      () => 'greeted',
      (error: unknown) => (error instanceof ClusterError ? error.tag : String(error)),
    );
  const [dialed, listened] = await Promise.all([
    outcome(greet(near, self, settings, time, systemRandom)),
    outcome(receive(far, { ...settings, self, ...listener }, time, systemRandom)),
  ]);
  return { dialed, listened, trusted: [near.isTrusted, far.isTrusted] };
}

test('two ends of one connection that know the secret trust each other', async (t) => {
  t.deepEqual(await meet(), { dialed: 'greeted', listened: 'greeted', trusted: [true, true] });
});

test('a process links with one of the release before, and refuses one further apart', async (t) => {
  const { min, max } = spokenProtocols;
  const before = await meet({ listener: { protocols: { min: min - 1, max: min } } });
  t.is(before.dialed, 'greeted');
  const earlier = await meet({ listener: { protocols: { min: min - 1, max: min - 1 } } });
  t.is(earlier.dialed, 'protocol_mismatch');
  const later = await meet({ listener: { protocols: { min: max + 1, max: max + 2 } } });
  t.is(later.dialed, 'protocol_mismatch');
});

const refused = { dialed: 'wrong_secret', listened: 'wrong_secret', trusted: [false, false] };

test('a proof for one connection is invalid for another', async (t) => {
  t.deepEqual(await meet({ listenerBinding: 'another connection' }), refused);
});

test('a proof for calls is invalid for probes', async (t) => {
  t.deepEqual(await meet({ listener: { purpose: 'probes' } }), refused);
});

test('a replayed proof is refused', async (t) => {
  let heard: Frame | undefined;
  await meet({ there: (frame) => (heard = frame) });
  t.is(heard?.frame?.$case, 'hello');
  t.deepEqual(await meet({ there: () => heard ?? { frame: undefined } }), refused);
});

test('the reader refuses a greeting changed on the way', async (t) => {
  const olderOffer = (frame: Frame): Frame =>
    frame.frame?.$case === 'hello'
      ? { frame: { $case: 'hello', value: { ...frame.frame.value, protocolMin: 1 } } }
      : frame;
  t.deepEqual(await meet({ there: olderOffer }), refused);
  const otherChoice = (frame: Frame): Frame =>
    frame.frame?.$case === 'welcome'
      ? { frame: { $case: 'welcome', value: { ...frame.frame.value, protocol: 1 } } }
      : frame;
  t.is((await meet({ back: otherChoice })).dialed, 'wrong_secret');
});

test('a frame behind the greeting is ignored until the peer has authenticated itself', async (t) => {
  const time = new ManualTime('2026-01-01T00:00:00Z');
  const end = new End('a connection', same);
  const greeting = receive(end, settings, time, systemRandom);
  const ping: Frame = { frame: { $case: 'ping', value: {} } };
  end.arrive([ping, ping]);
  const error = await t.throwsAsync(greeting, { instanceOf: ClusterError });
  t.is(error?.tag, 'protocol_violation');
  t.is(end.closedWith, error);
});

test('a greeting that is refused by either end leaves no timer behind', async (t) => {
  const time = new ManualTime('2026-01-01T00:00:00Z');
  const ping: Frame = { frame: { $case: 'ping', value: {} } };
  const [near, far] = [new End('a connection', same), new End('a connection', same)];
  const dialed = greet(near, processId('listener'), settings, time, systemRandom);
  const listened = receive(far, settings, time, systemRandom);
  t.is(time.pending, 2);
  for (const end of [near, far]) end.arrive([ping]);
  for (const greeting of [dialed, listened]) await t.throwsAsync(greeting, { instanceOf: ClusterError });
  t.is(time.pending, 0);
});
