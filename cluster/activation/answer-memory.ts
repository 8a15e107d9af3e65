import { ClusterError } from '../errors.js';
import type { RequestId } from '../ids/ids.js';
import { encode } from '../links/encoder.js';
import { hashBytes } from '../ring/hash.js';
import type { Call } from './call.js';

interface Answer {
  readonly method: string;
  /** Hash of the request's bytes; 0 until a repeat of a local call needs it. */
  payload: number;
  /** The request itself if the call was local, where no bytes exist. */
  input: unknown;
  readonly atMs: number;
  /** Calls with the same request id that wait for this running one. */
  joined: Call[] | undefined;
  running: boolean;
  value: unknown;
  error: ClusterError | undefined;
}

/**
 * Answers of one actor by request id: a repeat joins the running call or receives the first answer again. This is
 * only a cache (protocol 5.1); a repeat after the owner's death is caught by a unique column of the row.
 */
export class AnswerMemory {
  readonly #answers = new Map<RequestId, Answer>();
  /** The most repeats that have waited for one running call. */
  mostJoined = 0;

  get size(): number {
    return this.#answers.size;
  }

  /** True if the call was answered or joined to another call; the caller must not run it. */
  repeats(call: Call, payload: number, joinedMax: number, retryAfterMs: number): boolean {
    const answer = this.#answers.get(call.requestId);
    if (answer === undefined) return false;
    if (answer.method !== call.method.name || payloadOf(answer, call) !== (payload || hashOf(call))) {
      call.fail(
        new ClusterError(
          'request_conflict',
          `request ${call.requestId} was already used with a different payload`,
        ),
      );
    } else if (answer.running) {
      const joined = (answer.joined ??= []);
      if (joined.length >= joinedMax) {
        const reason = `${joined.length} repeats of request ${call.requestId} wait for its answer (repeatsMax)`;
        call.fail(new ClusterError('overloaded', reason, { retryAfterMs }));
      } else {
        joined.push(call);
        call.joined();
        this.mostJoined = Math.max(this.mostJoined, joined.length);
      }
    } else if (answer.error === undefined) {
      call.reply(answer.value);
    } else {
      call.fail(answer.error);
    }
    return true;
  }

  remember(call: Call, payload: number, nowMs: number, max: number): void {
    const answer: Answer = {
      method: call.method.name,
      payload,
      input: payload === 0 ? call.input : undefined,
      atMs: nowMs,
      joined: undefined,
      running: true,
      value: undefined,
      error: undefined,
    };
    this.#answers.set(call.requestId, answer);
    if (this.#answers.size > max) this.#dropOldestFinished();
    call.onOutcome = (error, value) => this.#settle(call, answer, error, value);
  }

  forgetOlderThan(atMs: number): void {
    for (const [id, answer] of this.#answers) {
      if (answer.atMs > atMs) return;
      if (!answer.running) this.#answers.delete(id);
    }
  }

  #settle(call: Call, answer: Answer, error: ClusterError | undefined, value: unknown): void {
    answer.running = false;
    answer.value = value;
    answer.error = error;
    // A retryable failure is not remembered: the retry must run.
    const isFinal = error === undefined || (error.retry === 'never' && error.tag !== 'cancelled');
    if (!isFinal) this.#answers.delete(call.requestId);
    const joined = answer.joined;
    answer.joined = undefined;
    for (const other of joined ?? []) {
      if (error === undefined) other.reply(value);
      else other.fail(error);
    }
  }

  #dropOldestFinished(): void {
    for (const [id, answer] of this.#answers) {
      if (answer.running) continue;
      this.#answers.delete(id);
      return;
    }
  }
}

/** A local call is encoded only when a repeat has to be compared with it. */
function payloadOf(answer: Answer, { method }: Call): number {
  if (answer.payload === 0) {
    answer.payload = hashBytes(encode(method.input, answer.input));
    answer.input = undefined;
  }
  return answer.payload;
}

function hashOf({ method, input }: Call): number {
  return hashBytes(encode(method.input, input));
}
