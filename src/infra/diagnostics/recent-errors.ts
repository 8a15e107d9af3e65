import type { Time } from '../../../cluster/index.js';
import type { Ids } from '../../kernel/chance.js';
import { type ErrorCode, errorKinds } from '../../kernel/errors.js';

export interface RecentError {
  readonly id: string;
  readonly error: string;
  readonly message: string;
  readonly timestamp: string;
}

interface RecentErrorsParts {
  readonly time: Pick<Time, 'wallMs'>;
  readonly ids: Ids;
}

const kept = 100;
const minutes = 60;

/**
 * The data of the public errors endpoint: codes, fixed messages and times. It never receives the request, so it cannot
 * reveal anything about a tenant.
 */
export class RecentErrors {
  readonly #parts: RecentErrorsParts;
  readonly #errors: RecentError[] = [];
  readonly #byType = new Map<string, number>();
  /** Requests and errors of each of the last 60 minutes, as a ring indexed by minute. */
  readonly #requests = new Uint32Array(minutes);
  readonly #failures = new Uint32Array(minutes);
  readonly #minuteOf = new Float64Array(minutes).fill(-1);
  #total = 0;

  constructor(parts: RecentErrorsParts) {
    this.#parts = parts;
  }

  /** Counts one request and returns its error. `spelled`: the code as its client saw it. */
  count(errorCode?: ErrorCode, spelled: string | undefined = errorCode): RecentError | undefined {
    const slot = this.#slot();
    this.#requests[slot] = (this.#requests[slot] ?? 0) + 1;
    if (errorCode === undefined || spelled === undefined) return undefined;
    this.#failures[slot] = (this.#failures[slot] ?? 0) + 1;
    this.#total += 1;
    this.#byType.set(spelled, (this.#byType.get(spelled) ?? 0) + 1);
    const error = {
      id: this.#parts.ids.uuid(),
      error: spelled,
      message: errorKinds[errorCode].message,
      timestamp: new Date(this.#parts.time.wallMs()).toISOString(),
    };
    this.#errors.push(error);
    if (this.#errors.length > kept) this.#errors.shift();
    return error;
  }

  /** Those of this node, newest first. */
  list(): readonly RecentError[] {
    return this.#errors.toReversed();
  }

  metrics(): { total_errors: number; by_type: Record<string, number>; error_rate: number } {
    const oldest = this.#minute() - minutes;
    let requests = 0;
    let failures = 0;
    for (let slot = 0; slot < minutes; slot += 1) {
      if ((this.#minuteOf[slot] ?? -1) <= oldest) continue;
      requests += this.#requests[slot] ?? 0;
      failures += this.#failures[slot] ?? 0;
    }
    const rate = requests === 0 ? 0 : failures / requests;
    return {
      total_errors: this.#total,
      by_type: Object.fromEntries(this.#byType),
      error_rate: Math.round(rate * 10_000) / 10_000,
    };
  }

  #minute(): number {
    return Math.floor(this.#parts.time.wallMs() / 60_000);
  }

  #slot(): number {
    const minute = this.#minute();
    const slot = minute % minutes;
    if (this.#minuteOf[slot] !== minute) {
      this.#minuteOf[slot] = minute;
      this.#requests[slot] = 0;
      this.#failures[slot] = 0;
    }
    return slot;
  }
}
