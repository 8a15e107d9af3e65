import { ClusterError } from '../errors.js';
import type { RequestId } from '../ids/ids.js';
import { encode } from '../links/encoder.js';
import { hashBytes } from '../ring/hash.js';
import type { Call } from './call.js';

interface Answer {
  readonly method: string;
  /** Hash of the request's bytes; 0 as long as nobody asked for that of a call of this very process. */
  payload: number;
  /** The request itself where it came without bytes. */
  input: unknown;
  readonly atMs: number;
  /** Calls that came with the id of one still running. */
  joined: Call[] | undefined;
  running: boolean;
  value: unknown;
  error: ClusterError | undefined;
}

/**
 * Answers of one actor by request id: a repeat joins the running call or gets the first answer again. Only
 * a cache (protocol 5.1): what must hold over the owner's death is a unique column of the row.
 */
export class AnswerMemory {
  readonly #answers = new Map<RequestId, Answer>();

  get size(): number {
    return this.#answers.size;
  }

  /** True when the call was answered or joined to another, and must not be run. */
  repeats(call: Call, payload: number): boolean {
    const answer = this.#answers.get(call.requestId);
    if (answer === undefined) return false;
    if (answer.method !== call.method.name || payloadOf(answer, call) !== (payload || hashOf(call))) {
      call.fail(
        new ClusterError(
          'request_conflict',
          `request ${call.requestId} was made before with another payload`,
        ),
      );
    } else if (answer.running) {
      (answer.joined ??= []).push(call);
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
    // A failure that a retry may mend is no answer: the retry must run.
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

/** Within a process no bytes are made, until a repeat asks whether it is one. */
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
