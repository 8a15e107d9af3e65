import { backoffMs } from './backoff.js';
import { type ApiError, ConnectionError, refusalOf } from './errors.js';
import { type Frame, readFrames } from './sse-reader.js';
import { reasonOf, type Surroundings, untilAborted, wait } from './surroundings.js';

export interface StreamSource {
  /** Opens the stream after the event with this id; undefined: from its beginning. */
  readonly open: (lastEventId: string | undefined, signal: AbortSignal) => Promise<Response>;
  /** Whether the frame is the last one of the stream, says that its connection failed, or is an event. */
  readonly kindOf: (frame: Frame, lastEventId: string | undefined) => 'event' | 'last' | 'lost';
  /** Each connection begins anew: ids say nothing about what was handed out before. */
  readonly beginsAnew?: boolean;
  /** Whether it is worth asking again after this answer. */
  readonly isPassing: (error: ApiError) => boolean | Promise<boolean>;
}

export interface ResumeOptions {
  readonly signal?: AbortSignal | undefined;
  readonly lastEventId?: string | undefined;
  /** Connections in a row that may bring nothing. Default 12, about a minute. */
  readonly reconnects?: number | undefined;
  /** A connection that is silent for this long is replaced; the platform sends a comment every 15 s. Default 45 s. */
  readonly silenceMs?: number | undefined;
  readonly onConnection?: ((state: ConnectionState) => void) | undefined;
}

export type ConnectionState = 'open' | 'lost';

const reconnectsDefault = 12;
const silenceMsDefault = 45_000;
const livesAfterMs = 10_000;

/** The frames of a stream over as many connections as it takes: each event once, in order. */
export async function* resumingFrames(
  source: StreamSource,
  options: ResumeOptions,
  surroundings: Surroundings,
): AsyncGenerator<Frame, void, undefined> {
  const { signal, onConnection } = options;
  let { lastEventId } = options;
  let failures = 0;
  while (true) {
    signal?.throwIfAborted();
    const connection = new Connection(options, surroundings);
    let failure: unknown;
    let retryAfterMs = 0;
    try {
      const response = await source.open(lastEventId, connection.signal);
      if (!response.ok) {
        const error = await refusalOf(response, surroundings.nowMs());
        // It may ask for another token, which is not waited for longer than for the stream itself.
        const isPassing = untilAborted(Promise.resolve(source.isPassing(error)), connection.signal);
        if (!(await isPassing)) throw new Refused(error);
        retryAfterMs = error.retryAfterMs ?? 0;
        failure = error;
      } else if (response.status === 204) {
        // Nothing follows the last event.
        return;
      } else {
        onConnection?.('open');
        for await (const frame of readFrames(bodyOf(response))) {
          connection.heard();
          const kind = frame.data === undefined ? undefined : source.kindOf(frame, lastEventId);
          if (kind === 'lost') {
            failure = new Error(`The platform lost the stream: ${frame.data}`);
            break;
          }
          // A comment after some time shows that the stream lives. One comes at once, and proves nothing.
          const isAlive = surroundings.nowMs() - connection.sinceMs >= livesAfterMs;
          if (frame.data !== undefined || isAlive) failures = 0;
          const isOld = frame.id !== undefined && isAtOrBefore(frame.id, lastEventId);
          if (isOld && source.beginsAnew !== true) continue;
          lastEventId = frame.id ?? lastEventId;
          if (kind === undefined) continue;
          yield frame;
          if (kind === 'last') return;
          // Frames that arrived before the abort are still buffered; a reader that has left gets none of them.
          signal?.throwIfAborted();
        }
      }
    } catch (error) {
      if (error instanceof Refused) throw error.refusal;
      if (signal?.aborted === true) throw reasonOf(signal);
      failure = error;
    } finally {
      connection.end();
    }
    failures += 1;
    if (failures > (options.reconnects ?? reconnectsDefault)) {
      throw new ConnectionError('The stream was lost and could not be continued.', {
        cause: failure,
        lastEventId,
      });
    }
    onConnection?.('lost');
    // Nothing was wrong with a connection that brought events; another one is there at once.
    const waitMs = failures === 1 ? 0 : backoffMs(surroundings, failures - 1);
    await wait(surroundings, Math.max(waitMs, retryAfterMs), signal);
  }
}

/** An answer that ends the stream, apart from failures of its connection. */
class Refused extends Error {
  readonly refusal: ApiError;

  constructor(refusal: ApiError) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

/** One connection: ended by the caller's signal, by its reader, or by silence. */
class Connection {
  readonly sinceMs: number;
  readonly #controller = new AbortController();
  readonly #surroundings: Surroundings;
  readonly #silenceMs: number;
  readonly #outer: AbortSignal | undefined;
  readonly #leave = (): void => this.#controller.abort(reasonOf(this.#outer));
  #cancel: () => void = () => undefined;

  constructor({ signal, silenceMs = silenceMsDefault }: ResumeOptions, surroundings: Surroundings) {
    this.sinceMs = surroundings.nowMs();
    this.#surroundings = surroundings;
    this.#silenceMs = silenceMs;
    this.#outer = signal;
    signal?.addEventListener('abort', this.#leave, { once: true });
    this.heard();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  heard(): void {
    this.#cancel();
    this.#cancel = this.#surroundings.after(this.#silenceMs, () =>
      this.#controller.abort(new Error(`Nothing came for ${this.#silenceMs} ms.`)),
    );
  }

  end(): void {
    this.#cancel();
    this.#outer?.removeEventListener('abort', this.#leave);
    this.#controller.abort();
  }
}

/** Ids are numbers that rise; others cannot be compared, and are taken as new unless they are the same. */
function isAtOrBefore(id: string, last: string | undefined): boolean {
  if (last === undefined) return false;
  const [number, lastNumber] = [Number(id), Number(last)];
  return Number.isFinite(number) && Number.isFinite(lastNumber) ? number <= lastNumber : id === last;
}

function bodyOf({ body }: Response): ReadableStream<Uint8Array> {
  if (body === null) throw new Error('The answer has no body.');
  return body;
}
