import { createHmac, timingSafeEqual } from 'node:crypto';
import { ClusterError, tagOfWireCode, wireCodeOf, type ClusterErrorTag } from '../errors.js';
import type { ProcessId } from '../ids/ids.js';
import type { Random, Time } from '../time/time.js';
import type { Frame, Pipe } from './pipe.js';

/**
 * The first frames of a link. The listener asks with a nonce, the dialer proves that it knows the cluster
 * secret and names the process it means; the listener proves the same back. The secret itself never travels.
 * A wrong process is refused: addresses are reused, and a call must not reach the successor at an address.
 */
export interface HandshakeSettings {
  readonly cluster: string;
  readonly secret: string;
  readonly self: ProcessId;
  readonly timeoutMs: number;
  /** Versions that this process speaks; of those both speak, the highest is used. */
  readonly protocolMin: number;
  readonly protocolMax: number;
}

export const protocolVersion = 1;

/** A link whose two ends know each other; frames that came behind the greeting are kept for the listener. */
export interface Greeted {
  readonly pipe: Pipe;
  readonly peer: string;
  readonly protocol: number;
  attach(onFrames: (frames: readonly Frame[]) => void, onClose: (error: Error | undefined) => void): void;
}

/** Resolves once the listener has accepted. */
export async function greet(
  pipe: Pipe,
  to: ProcessId,
  settings: HandshakeSettings,
  time: Time,
  random: Random,
): Promise<Greeted> {
  const inbox = new Inbox(pipe, time, settings.timeoutMs);
  const challenge = await inbox.next();
  if (challenge.frame?.$case !== 'challenge') throw unexpected(challenge);
  const nonce = Buffer.from(random.id(), 'hex');
  const { cluster, secret, self: from, protocolMin, protocolMax } = settings;
  const proof = sign(secret, ['dialer', cluster, from, to], challenge.frame.value.nonce);
  pipe.write([
    { frame: { $case: 'hello', value: { protocolMin, protocolMax, cluster, from, to, nonce, proof } } },
  ]);
  const answer = await inbox.next();
  if (answer.frame?.$case !== 'welcome') throw unexpected(answer);
  const expected = sign(secret, ['listener', cluster, from, to], nonce);
  if (!equal(answer.frame.value.proof, expected)) {
    throw new ClusterError('wrong_secret', 'the listener does not know the cluster secret', { process: to });
  }
  return inbox.greeted(to, answer.frame.value.protocol);
}

/** Resolves once the dialer has proved itself; refuses and rejects otherwise. */
export async function receive(
  pipe: Pipe,
  settings: HandshakeSettings,
  time: Time,
  random: Random,
): Promise<Greeted> {
  const inbox = new Inbox(pipe, time, settings.timeoutMs);
  const nonce = Buffer.from(random.id(), 'hex');
  pipe.write([{ frame: { $case: 'challenge', value: { nonce } } }]);
  const hello = await inbox.next();
  if (hello.frame?.$case !== 'hello') throw unexpected(hello);
  const { from, to, cluster, proof, protocolMin, protocolMax } = hello.frame.value;
  const protocol = Math.min(protocolMax, settings.protocolMax);
  // The secret first: a stranger learns nothing else.
  if (
    !equal(proof, sign(settings.secret, ['dialer', cluster, from, to], nonce)) ||
    cluster !== settings.cluster
  ) {
    throw refuse(pipe, 'wrong_secret', `${from} does not know the secret of this cluster`);
  }
  if (protocol < Math.max(protocolMin, settings.protocolMin)) {
    const spoken = `${settings.protocolMin} to ${settings.protocolMax}`;
    throw refuse(pipe, 'protocol_mismatch', `${protocolMin} to ${protocolMax} asked, ${spoken} spoken`);
  }
  if (to !== settings.self)
    throw refuse(pipe, 'wrong_process', `${to} was meant, ${settings.self} answers here`);
  const answer = sign(settings.secret, ['listener', cluster, from, to], hello.frame.value.nonce);
  pipe.write([{ frame: { $case: 'welcome', value: { protocol, proof: answer } } }]);
  return inbox.greeted(from, protocol);
}

export function sign(secret: string, names: readonly string[], nonce: Uint8Array): Uint8Array {
  const hmac = createHmac('sha256', secret);
  // Lengths in front: no two lists of names may sign alike.
  for (const name of names) hmac.update(`${name.length}:${name}`);
  return hmac.update(nonce).digest();
}

export function equal(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}

function refuse(pipe: Pipe, tag: ClusterErrorTag, message: string): ClusterError {
  pipe.write([{ frame: { $case: 'refusal', value: { code: wireCodeOf(tag), message } } }]);
  const error = new ClusterError(tag, message);
  pipe.close(error);
  return error;
}

function unexpected(frame: Frame): ClusterError {
  if (frame.frame?.$case === 'refusal') {
    const { code, message } = frame.frame.value;
    return new ClusterError(tagOfWireCode(code), message, { notBegun: true });
  }
  return new ClusterError(
    'protocol_violation',
    `unexpected first frame ${frame.frame?.$case ?? 'of no kind'}`,
  );
}

/** Hands out frames one by one while the two greet each other; later frames go to whoever attaches. */
class Inbox {
  readonly #pipe: Pipe;
  readonly #frames: Frame[] = [];
  readonly #timer: { cancel(): void };
  #waiting: { resolve(frame: Frame): void; reject(error: Error): void } | undefined;
  #closed: { readonly error: Error | undefined } | undefined;
  #failure: Error | undefined;
  #onFrames: ((frames: readonly Frame[]) => void) | undefined;
  #onClose: ((error: Error | undefined) => void) | undefined;

  constructor(pipe: Pipe, time: Time, timeoutMs: number) {
    this.#pipe = pipe;
    pipe.onFrames((frames) => {
      if (this.#onFrames !== undefined) {
        this.#onFrames(frames);
        return;
      }
      this.#frames.push(...frames);
      this.#pass();
    });
    pipe.onClose((error) => {
      this.#closed = { error };
      const refused = error instanceof ClusterError && error.refused;
      const details = { cause: error, notBegun: true, refused };
      this.#fail(new ClusterError('peer_lost', 'the link closed while greeting', details));
      this.#onClose?.(error);
    });
    this.#timer = time.after(timeoutMs, () => {
      this.#fail(new ClusterError('peer_lost', 'the peer did not greet in time', { notBegun: true }));
      pipe.close();
    });
  }

  next(): Promise<Frame> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#pass();
    });
  }

  greeted(peer: string, protocol: number): Greeted {
    this.#timer.cancel();
    return {
      pipe: this.#pipe,
      peer,
      protocol,
      attach: (onFrames, onClose) => {
        this.#onFrames = onFrames;
        this.#onClose = onClose;
        if (this.#frames.length > 0) onFrames(this.#frames.splice(0));
        if (this.#closed !== undefined) onClose(this.#closed.error);
      },
    };
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#timer.cancel();
    this.#pass();
  }

  #pass(): void {
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    const frame = this.#frames.shift();
    if (frame === undefined && this.#failure === undefined) return;
    this.#waiting = undefined;
    if (frame !== undefined) waiting.resolve(frame);
    else if (this.#failure !== undefined) waiting.reject(this.#failure);
  }
}
