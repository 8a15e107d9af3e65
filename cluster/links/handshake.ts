import { createHmac, timingSafeEqual } from 'node:crypto';
import { ClusterError, tagOfWireCode, wireCodeOf, type ClusterErrorTag } from '../errors.js';
import type { ProcessId } from '../ids/ids.js';
import type { Random, Time } from '../time/time.js';
import { apartTooFar, commonProtocol, rangeText, type Protocols } from './protocol.js';
import type { Frame, Pipe } from './pipe.js';

/**
 * The first frames of a link. The listener sends a nonce; the dialer proves that it knows the cluster secret and names
 * the process it expects; the listener proves its knowledge in return. The secret itself is never sent. Each proof
 * covers both nonces, the names, the versions, the purpose of the stream and the connection, so it can neither be
 * replayed nor relayed over another connection. A wrong process is refused too: addresses are reused, and a call must
 * not reach the successor at an address.
 */
export interface HandshakeSettings {
  readonly cluster: string;
  readonly secret: string;
  readonly self: ProcessId;
  /** A proof is valid for one purpose only. */
  readonly purpose: 'calls' | 'probes';
  readonly timeoutMs: number;
  /** The highest version that both support is used. */
  readonly protocols: Protocols;
}

const nonceBytes = 16;

/** A link after the greeting. Frames that arrived after it are kept until `attach`. */
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
  // The challenge, then the welcome or the refusal.
  const inbox = new Inbox(pipe, time, settings.timeoutMs, 2);
  try {
    const challenge = await inbox.next();
    if (challenge.frame?.$case !== 'challenge') throw unexpected(challenge);
    const nonce = Buffer.from(random.id(), 'hex');
    const { secret, self: from } = settings;
    const transcript: Transcript = {
      ...settings,
      from,
      to,
      challenge: challenge.frame.value.nonce,
      nonce,
      binding: pipe.binding(),
    };
    const { cluster } = settings;
    const { min: protocolMin, max: protocolMax } = settings.protocols;
    const proof = sign(secret, 'dialer', transcript);
    pipe.write([
      { frame: { $case: 'hello', value: { protocolMin, protocolMax, cluster, from, to, nonce, proof } } },
    ]);
    const answer = await inbox.next();
    if (answer.frame?.$case !== 'welcome') throw unexpected(answer);
    const { protocol } = answer.frame.value;
    if (!equal(answer.frame.value.proof, sign(secret, 'listener', transcript, protocol))) {
      throw new ClusterError('wrong_secret', `${to} ${secretMismatch}`, { process: to });
    }
    if (protocol < protocolMin || protocol > protocolMax) {
      throw new ClusterError(
        'protocol_mismatch',
        `${to} chose protocol version ${protocol}, which was not offered`,
      );
    }
    return inbox.greeted(to, protocol);
  } catch (error) {
    inbox.stop();
    throw error;
  }
}

/** Resolves once the dialer has proved itself; refuses and rejects otherwise. */
export async function receive(
  pipe: Pipe,
  settings: HandshakeSettings,
  time: Time,
  random: Random,
): Promise<Greeted> {
  const inbox = new Inbox(pipe, time, settings.timeoutMs, 1);
  try {
    const challenge = Buffer.from(random.id(), 'hex');
    pipe.write([{ frame: { $case: 'challenge', value: { nonce: challenge } } }]);
    const hello = await inbox.next();
    if (hello.frame?.$case !== 'hello') throw unexpected(hello);
    const { from, to, cluster, nonce, proof, protocolMin, protocolMax } = hello.frame.value;
    const { secret, purpose } = settings;
    const protocols = { min: protocolMin, max: protocolMax };
    const offer = { cluster, purpose, protocols };
    const transcript: Transcript = { ...offer, from, to, challenge, nonce, binding: pipe.binding() };
    // The secret is checked first, so that an unproven peer learns nothing else.
    if (
      nonce.length < nonceBytes ||
      cluster !== settings.cluster ||
      !equal(proof, sign(secret, 'dialer', transcript))
    ) {
      throw refuse(pipe, 'wrong_secret', `${from} ${secretMismatch}`);
    }
    const protocol = commonProtocol(protocols, settings.protocols);
    if (protocol === undefined) {
      throw refuse(
        pipe,
        'protocol_mismatch',
        `the dialer ${from} speaks protocol ${rangeText(protocols)}, the listener ${settings.self} ` +
          `${rangeText(settings.protocols)}: ${apartTooFar}`,
      );
    }
    if (to !== settings.self)
      throw refuse(pipe, 'wrong_process', `the dialer expected ${to}, but ${settings.self} listens here`);
    const answer = sign(secret, 'listener', transcript, protocol);
    pipe.write([{ frame: { $case: 'welcome', value: { protocol, proof: answer } } }]);
    return inbox.greeted(from, protocol);
  } catch (error) {
    inbox.stop();
    throw error;
  }
}

const secretMismatch =
  'does not know the secret of this cluster, or its greeting came over another connection';

/** Everything that the proofs cover. */
interface Transcript {
  readonly cluster: string;
  readonly purpose: string;
  readonly from: string;
  readonly to: string;
  readonly protocols: Protocols;
  readonly challenge: Uint8Array;
  readonly nonce: Uint8Array;
  readonly binding: Uint8Array;
}

function sign(
  secret: string,
  role: 'dialer' | 'listener',
  transcript: Transcript,
  chosen?: number,
): Uint8Array {
  const { cluster, purpose, from, to, protocols, challenge, nonce, binding } = transcript;
  const texts = [role, purpose, cluster, from, to, `${protocols.min}-${protocols.max}`, `${chosen ?? ''}`];
  const hmac = createHmac('sha256', secret);
  for (const part of [...texts.map((text) => Buffer.from(text)), challenge, nonce, binding]) {
    // The length prefix makes the encoding of the parts unambiguous.
    hmac.update(`${part.length}:`).update(part);
  }
  return hmac.digest();
}

function equal(one: Uint8Array, other: Uint8Array): boolean {
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
    `unexpected first frame ${frame.frame?.$case ?? 'without a type'}`,
  );
}

/**
 * Returns frames one by one during the greeting; later frames go to the attached listener. During the greeting each
 * batch must hold one frame, and only the expected number is accepted, so that an unproven peer cannot fill memory.
 */
class Inbox {
  readonly #pipe: Pipe;
  readonly #timer: { cancel(): void };
  /** Frames of the greeting; after it, frames that arrive before `attach`. */
  readonly #frames: Frame[] = [];
  #expected: number;
  #isGreeted = false;
  #waiting: { resolve(frame: Frame): void; reject(error: Error): void } | undefined;
  #closed: { readonly error: Error | undefined } | undefined;
  #failure: Error | undefined;
  #onFrames: ((frames: readonly Frame[]) => void) | undefined;
  #onClose: ((error: Error | undefined) => void) | undefined;

  constructor(pipe: Pipe, time: Time, timeoutMs: number, expected: number) {
    this.#pipe = pipe;
    this.#expected = expected;
    pipe.onFrames((frames) => this.#onBatch(frames));
    pipe.onClose((error) => {
      this.#closed = { error };
      const refused = error instanceof ClusterError && error.refused;
      const details = { cause: error, notBegun: true, refused };
      this.#fail(new ClusterError('peer_lost', 'the link closed during the greeting', details));
      this.#onClose?.(error);
    });
    this.#timer = time.after(timeoutMs, () => {
      this.#fail(new ClusterError('peer_lost', 'the greeting did not finish in time', { notBegun: true }));
      pipe.close();
    });
  }

  next(): Promise<Frame> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#pass();
    });
  }

  /** The greeting failed for a reason that this side found, of which the pipe does not tell. */
  stop(): void {
    this.#timer.cancel();
  }

  greeted(peer: string, protocol: number): Greeted {
    this.#timer.cancel();
    if (this.#failure !== undefined) throw this.#failure;
    this.#isGreeted = true;
    this.#pipe.trust();
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

  #onBatch(frames: readonly Frame[]): void {
    if (this.#onFrames !== undefined) {
      this.#onFrames(frames);
      return;
    }
    if (!this.#isGreeted && (frames.length !== 1 || this.#expected === 0)) {
      const error = new ClusterError(
        'protocol_violation',
        `a peer that has not proved itself sent ${frames.length} frames where one was expected`,
        { notBegun: true },
      );
      this.#frames.length = 0;
      this.#fail(error);
      this.#pipe.close(error);
      return;
    }
    this.#expected -= 1;
    // A loop, because many frames as arguments of one call would overflow the stack.
    for (const frame of frames) this.#frames.push(frame);
    this.#pass();
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#timer.cancel();
    this.#pass();
  }

  #pass(): void {
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    // A refusal and the close may arrive together; the refusal carries the reason.
    const frame = this.#frames.shift();
    if (frame === undefined && this.#failure === undefined) return;
    this.#waiting = undefined;
    if (frame !== undefined) waiting.resolve(frame);
    else if (this.#failure !== undefined) waiting.reject(this.#failure);
  }
}
