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
  /** Calls with the same request id that wait for the running one. */
  joined: Call[] | undefined;
  /** Undefined once it has ended. */
  running: Call | undefined;
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
    } else if (answer.running !== undefined) {
      const waiting = answer.joined?.length ?? 0;
      if (waiting >= joinedMax) {
        const reason = `${waiting} repeats of request ${call.requestId} wait for its answer (repeatsMax)`;
        call.fail(new ClusterError('overloaded', reason, { retryAfterMs }));
      } else this.#join(answer, call);
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
      running: call,
      value: undefined,
      error: undefined,
    };
    this.#answers.set(call.requestId, answer);
    if (this.#answers.size > max) this.#dropOldestFinished();
    call.awaitedUntilMs = () => latestDeadline(answer.joined);
    call.onOutcome = (error, value) => this.#settle(call, answer, error, value);
  }

  forgetOlderThan(atMs: number): void {
    for (const [id, answer] of this.#answers) {
      if (answer.atMs > atMs) return;
      if (answer.running === undefined) this.#answers.delete(id);
    }
  }

  #join(answer: Answer, call: Call): void {
    const joined = (answer.joined ??= []);
    joined.push(call);
    call.joined();
    this.mostJoined = Math.max(this.mostJoined, joined.length);
    call.onOutcome = (error) => {
      if (answer.joined === undefined) return;
      answer.joined = answer.joined.filter((other) => other !== call);
      // Nobody waits any more: the call ends like one whose caller has gone.
      if (error !== undefined && answer.joined.length === 0 && answer.running?.left === true) {
        answer.running.fail(error);
      }
    };
  }

  #settle(call: Call, answer: Answer, error: ClusterError | undefined, value: unknown): void {
    answer.running = undefined;
    answer.value = value;
    answer.error = error;
    // A retryable failure is not remembered: the retry must run.
    const isFinal = error === undefined || (error.retry === 'never' && error.tag !== 'cancelled');
    if (!isFinal) this.#answers.delete(call.requestId);
    const joined = answer.joined;
    answer.joined = undefined;
    for (const other of joined ?? []) {
      if (error === undefined) other.reply(value);
      else other.fail(call.left ? errorOfRepeat(error) : error);
    }
  }

  #dropOldestFinished(): void {
    for (const [id, answer] of this.#answers) {
      if (answer.running !== undefined) continue;
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

function latestDeadline(joined: readonly Call[] | undefined): number | undefined {
  if (joined === undefined || joined.length === 0) return undefined;
  return joined.reduce((latest, { deadlineAtMs }) => Math.max(latest, deadlineAtMs), 0);
}

/** What the handler had asked for before its caller went ended by that caller's deadline. No repeat has passed its own. */
function errorOfRepeat(error: ClusterError): ClusterError {
  if (error.tag !== 'deadline_exceeded' && error.tag !== 'cancelled') return error;
  const message = 'the call that this repeat joined was cut short by its first caller; repeat it again';
  return new ClusterError('outcome_unknown', message, { cause: error });
}
