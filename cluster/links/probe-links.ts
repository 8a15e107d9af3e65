import { ClusterError, toClusterError } from '../errors.js';
import type { ProcessId } from '../ids/ids.js';
import type { Member } from '../membership/membership.js';
import type { PeerProbe, ProbeAnswer, ProbeReply, ProbeRequest } from '../membership/peer-probe.js';
import type { Random, Time } from '../time/time.js';
import { greet, receive, type Greeted, type HandshakeSettings } from './handshake.js';
import type { Frame, Pipe } from './pipe.js';
import { answerOf, probeOf, replyOf, requestOf } from './probe-messages.js';

type ProbeHandler = (request: ProbeRequest) => ProbeReply | Promise<ProbeReply>;

export interface ProbeLinksParts {
  readonly settings: HandshakeSettings;
  readonly time: Time;
  readonly random: Random;
  /** Concurrent probes of one peer, in each direction. */
  readonly probesMax: number;
  dial(peer: Member): Pipe;
}

/**
 * Membership probes, with one stream per peer that is greeted once. The greeting proves the identity of both ends, and
 * an intercepted probe is invalid on another connection.
 */
export class ProbeLinks implements PeerProbe {
  readonly #parts: ProbeLinksParts;
  readonly #asked = new Map<string, ProbeLink>();
  readonly #served = new Set<Pipe>();
  #handler: ProbeHandler | undefined;

  constructor(parts: ProbeLinksParts) {
    this.#parts = parts;
  }

  answerWith(handler: ProbeHandler): void {
    this.#handler = handler;
  }

  async ask(peer: Member, request: ProbeRequest, signal: AbortSignal): Promise<ProbeAnswer> {
    if (signal.aborted) throw new ClusterError('deadline_exceeded', 'the probe was cancelled');
    try {
      return { outcome: 'replied', reply: await this.#linkTo(peer).ask(request, signal) };
    } catch (error) {
      const known = toClusterError(error, 'peer_lost');
      // The next probe dials again: one failed connection proves nothing about the process.
      if (known.refused || known.tag === 'wrong_process') return { outcome: 'refused' };
      throw known;
    }
  }

  /** Answers the probes of a peer that proves itself on this pipe. */
  async serve(pipe: Pipe): Promise<void> {
    const { settings, time, random } = this.#parts;
    try {
      const greeted = await receive(pipe, settings, time, random);
      this.#served.add(pipe);
      const answering = { count: 0 };
      greeted.attach(
        (frames) => {
          for (const frame of frames) this.#answer(greeted, frame, answering);
        },
        () => this.#served.delete(pipe),
      );
    } catch (error) {
      pipe.close(toClusterError(error));
    }
  }

  close(): void {
    for (const link of this.#asked.values()) link.close();
    this.#asked.clear();
    for (const pipe of this.#served) pipe.close();
    this.#served.clear();
  }

  #linkTo(peer: Member): ProbeLink {
    const key = `${peer.address} ${peer.process}`;
    const known = this.#asked.get(key);
    if (known !== undefined) return known;
    const { settings, time, random } = this.#parts;
    const pipe = this.#parts.dial(peer);
    const greeting = greet(pipe, peer.process, settings, time, random);
    const link: ProbeLink = new ProbeLink(peer.process, pipe, greeting, this.#parts.probesMax, () => {
      if (this.#asked.get(key) === link) this.#asked.delete(key);
    });
    this.#asked.set(key, link);
    return link;
  }

  #answer(greeted: Greeted, { frame }: Frame, answering: { count: number }): void {
    if (frame?.$case !== 'probe') {
      throw new ClusterError('protocol_violation', `unexpected frame ${frame?.$case ?? 'without a type'}`);
    }
    if (answering.count >= this.#parts.probesMax) {
      throw new ClusterError(
        'protocol_violation',
        `the peer sent more than ${answering.count} probes at once`,
      );
    }
    const { pipe, peer } = greeted;
    const { id } = frame.value;
    const request = requestOf(peer, frame.value);
    const handler = this.#handler;
    if (handler === undefined) throw new ClusterError('not_serving', 'this node has not started yet');
    answering.count += 1;
    Promise.resolve()
      .then(() => handler(request))
      .then((reply) => {
        pipe.write([{ frame: { $case: 'probeAnswer', value: answerOf(id, reply) } }]);
      })
      // A failing handler closes the pipe; the asker's time-out covers the rest.
      .catch((error: unknown) => pipe.close(toClusterError(error)))
      .finally(() => (answering.count -= 1));
  }
}

interface Question {
  resolve(reply: ProbeReply): void;
  reject(error: ClusterError): void;
}

/** The asking end of one stream, used for new probes until one fails. */
class ProbeLink {
  readonly #peer: ProcessId;
  readonly #pipe: Pipe;
  readonly #open: Promise<void>;
  readonly #forget: () => void;
  readonly #max: number;
  readonly #questions = new Map<number, Question>();
  #lastId = 0;
  #waiting = 0;
  #isRetired = false;
  #lost: ClusterError | undefined;

  constructor(peer: ProcessId, pipe: Pipe, greeting: Promise<Greeted>, max: number, forget: () => void) {
    this.#peer = peer;
    this.#pipe = pipe;
    this.#forget = forget;
    this.#max = max;
    this.#open = greeting.then(
      (greeted) => {
        greeted.attach(
          (frames) => {
            for (const frame of frames) this.#onFrame(frame);
          },
          (error) =>
            this.#lose(new ClusterError('peer_lost', 'the probe connection was lost', { cause: error })),
        );
      },
      (error: unknown) => {
        this.#lose(toClusterError(error, 'peer_lost'));
        throw error;
      },
    );
    // `ask` reports the error.
    this.#open.catch(() => undefined);
  }

  async ask(request: ProbeRequest, signal: AbortSignal): Promise<ProbeReply> {
    // The peer would close the connection of one that asks more.
    if (this.#waiting >= this.#max) {
      const reason = `${this.#waiting} probes of ${this.#peer} wait for their answers (probesMax)`;
      throw new ClusterError('overloaded', reason, { process: this.#peer });
    }
    this.#waiting += 1;
    try {
      return await new Promise<ProbeReply>((resolve, reject) => {
        const giveUp = (): void =>
          reject(new ClusterError('deadline_exceeded', 'the peer did not answer the probe'));
        signal.addEventListener('abort', giveUp, { once: true });
        this.#open.then(() => this.#send(request, signal, { resolve, reject }), reject);
      });
    } catch (error) {
      // Perhaps only this connection is broken: the next probe uses a new one.
      this.#isRetired = true;
      this.#forget();
      throw error;
    } finally {
      this.#waiting -= 1;
      if (this.#isRetired && this.#waiting === 0) this.close();
    }
  }

  close(): void {
    this.#lose(new ClusterError('peer_lost', 'the probe connection was closed'));
  }

  #send(request: ProbeRequest, signal: AbortSignal, question: Question): void {
    if (this.#lost !== undefined) {
      question.reject(this.#lost);
      return;
    }
    if (signal.aborted) return;
    this.#lastId += 1;
    const id = this.#lastId;
    this.#questions.set(id, question);
    signal.addEventListener('abort', () => this.#questions.delete(id), { once: true });
    this.#pipe.write([{ frame: { $case: 'probe', value: probeOf(id, request) } }]);
  }

  #onFrame({ frame }: Frame): void {
    if (frame?.$case !== 'probeAnswer') {
      throw new ClusterError('protocol_violation', `unexpected frame ${frame?.$case ?? 'without a type'}`);
    }
    const question = this.#questions.get(frame.value.id);
    // The probe was cancelled.
    if (question === undefined) return;
    this.#questions.delete(frame.value.id);
    question.resolve(replyOf(this.#peer, frame.value));
  }

  #lose(error: ClusterError): void {
    if (this.#lost !== undefined) return;
    this.#lost = error;
    this.#forget();
    this.#pipe.close();
    for (const question of this.#questions.values()) question.reject(error);
    this.#questions.clear();
  }
}
