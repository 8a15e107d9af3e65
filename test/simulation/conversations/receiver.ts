import { sleep, type Time } from '../../../cluster/index.js';
import type { SeededRandom } from '../../../cluster/simulation/virtual-time.js';
import { EgressError, type Egress } from '../../../src/infra/egress/index.js';

/** One request that left a process for the receiver of callbacks. */
export interface SentCallback {
  readonly atMs: number;
  readonly process: string;
  /** The same for every attempt at one chunk. */
  readonly id: string;
  readonly executionId: string;
  readonly sessionId: string;
  readonly body: string;
  readonly isFailure: boolean;
  /** What the receiver answered; undefined if its answer was lost. */
  readonly status: number | undefined;
}

const host = 'receiver.test';

type Outbound = Parameters<Egress['fetchGuarded']>[0];

export interface ReceiverParts {
  readonly random: SeededRandom;
  readonly now: () => number;
  /** Called when a request leaves. */
  readonly onSent: (callback: SentCallback) => void;
}

/** The receiver of all callbacks: slow at times, and answers errors, until it is mended. */
export class SimulatedReceiver {
  readonly sent: SentCallback[] = [];
  readonly #parts: ReceiverParts;
  #isMended = false;

  constructor(parts: ReceiverParts) {
    this.#parts = parts;
  }

  mend(): void {
    this.#isMended = true;
  }

  /** The way out of one process. `ignoresLook`: a planted bug. */
  egress(process: string, time: Time, ignoresLook: boolean): Pick<Egress, 'fetchGuarded'> {
    const { random } = this.#parts;
    return {
      fetchGuarded: async (request) => {
        // The way to the request: a name, a connection.
        await this.#within(time, random.between(1, random.chance(0.2) ? 1_500 : 30), request, true);
        if (!ignoresLook && request.mayBegin?.() === false)
          throw new EgressError('withdrawn', 'not sent', { host, neverSent: true });
        const status = this.#receive(process, request);
        const takesMs = random.between(5, !this.#isMended && random.chance(0.1) ? 6_000 : 300);
        await this.#within(time, takesMs, request, false);
        if (status === undefined)
          throw new EgressError('connection_failed', 'the connection broke', { host });
        const url = String(request.url);
        return { status, headers: {}, url, body: Buffer.alloc(0), truncated: false };
      },
    };
  }

  #receive(process: string, { headers = {}, body }: Outbound): number | undefined {
    const text = String(body);
    const parsed = JSON.parse(text) as {
      readonly execution_id: string;
      readonly session_id: string;
      readonly error?: object;
    };
    const status = this.#answer();
    const callback: SentCallback = {
      atMs: this.#parts.now(),
      process,
      id: headers['idempotency-key'] ?? '',
      executionId: parsed.execution_id,
      sessionId: parsed.session_id,
      body: text,
      isFailure: parsed.error !== undefined,
      status,
    };
    this.sent.push(callback);
    this.#parts.onSent(callback);
    return status;
  }

  #answer(): number | undefined {
    const { random } = this.#parts;
    if (this.#isMended || random.chance(0.75)) return 200;
    return random.chance(0.2) ? undefined : random.pick([500, 503, 429, 410]);
  }

  async #within(time: Time, ms: number, { signal, timeoutMs }: Outbound, neverSent: boolean): Promise<void> {
    const signals = signal instanceof AbortSignal ? [signal] : (signal ?? []);
    const waits = new AbortController();
    const isOver = await Promise.race([
      sleep(time, Math.min(ms, timeoutMs), waits.signal).then(
        () => true,
        () => true,
      ),
      ...signals.map(
        (one) =>
          new Promise<false>((resolve) =>
            one.addEventListener('abort', () => resolve(false), { once: true }),
          ),
      ),
    ]);
    waits.abort();
    if (!isOver || signals.some(({ aborted }) => aborted))
      throw new EgressError('cancelled', 'cancelled', { host, neverSent });
    if (ms > timeoutMs) throw new EgressError('timeout', 'no answer in time', { host, neverSent });
  }
}
