import { PlatformError } from '../../kernel/errors.js';
import { type BodyRules, JsonSize, refuseOversized } from '../operations/index.js';
import { BodyBlocks } from './body-blocks.js';
import type { BodyBudget, HeldBody } from './body-budget.js';

export interface BodyTerms {
  readonly rules: BodyRules;
  /** As the request declares it; 0 where it declares none. */
  readonly contentLength: number;
  readonly isChunked: boolean;
  readonly budget: BodyBudget;
  /** Whose bytes these are, for the budget. */
  readonly client: string;
}

/** How a refused body ends: `rest` for each further piece of it, `end` after the last one. */
export interface RestListener {
  rest(bytes: number): void;
  end(): void;
}

/**
 * The body of one request, as the native side hands it over. It is kept until somebody reads it, and no longer: from a
 * refusal on, what still comes is counted and dropped.
 */
export class IncomingBody implements HeldBody {
  /** The whole body, or the refusal as soon as there is reason for one. */
  readonly bytes: Promise<Uint8Array>;
  readonly #terms: BodyTerms;
  readonly #size: JsonSize | undefined;
  #blocks: BodyBlocks | undefined = new BodyBlocks();
  #received = 0;
  #held = 0;
  #hasEnded = false;
  #resolve: (bytes: Uint8Array) => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;
  #listener: RestListener | undefined;

  constructor(terms: BodyTerms) {
    this.#terms = terms;
    this.#size = terms.rules.form === 'json' ? new JsonSize() : undefined;
    this.bytes = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // A request that is refused first never awaits its body; what becomes of that body concerns nobody.
    this.bytes.catch(() => undefined);
    if (terms.contentLength > terms.rules.maxBytes) this.fail(tooLarge(terms.rules.maxBytes));
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Bytes that are still to come; undefined where the request does not say how many. */
  get bytesLeft(): number | undefined {
    if (this.#hasEnded) return 0;
    const { isChunked, contentLength } = this.#terms;
    return isChunked ? undefined : contentLength - this.#received;
  }

  take(chunk: ArrayBuffer, isLast: boolean): void {
    this.#received += chunk.byteLength;
    this.#hasEnded = isLast;
    if (this.#blocks !== undefined) this.#keep(this.#blocks, new Uint8Array(chunk), isLast);
    if (this.#listener === undefined) return;
    if (isLast) this.#listener.end();
    else this.#listener.rest(chunk.byteLength);
  }

  #keep(blocks: BodyBlocks, piece: Uint8Array, isLast: boolean): void {
    const { rules, budget, client, isChunked } = this.#terms;
    if (this.#received > rules.maxBytes) return this.fail(tooLarge(rules.maxBytes));
    const growth = blocks.growthFor(piece.length);
    if (growth > 0 && !budget.hold(client, this, growth)) return this.fail(noRoom());
    this.#held += growth;
    try {
      if (this.#size !== undefined) refuseOversized(this.#size, piece);
    } catch (error) {
      return this.fail(error);
    }
    // The native memory is gone after this call, so the bytes are copied.
    blocks.add(piece);
    if (!isLast) return;
    budget.arrived(client, this);
    // Where a body in chunks ends, parsers differ. What came behind it in the same piece is taken for the next request
    // as soon as this call returns; while this one has no answer, that closes the connection.
    if (isChunked) setImmediate(this.#resolve, blocks.whole());
    else this.#resolve(blocks.whole());
  }

  /** Refuses the body; a second reason changes nothing. */
  fail(error: unknown): void {
    this.drop();
    this.#reject(error);
  }

  evict(): void {
    this.fail(noRoom());
  }

  /** Nobody needs the bytes any more: those held are given back, those to come are not kept. */
  drop(): void {
    this.#blocks = undefined;
    const { budget, client } = this.#terms;
    if (this.#held > 0) budget.free(client, this, this.#held);
    this.#held = 0;
  }

  /** Hears of what comes after the refusal. */
  follow(listener: RestListener): void {
    this.#listener = listener;
  }
}

function tooLarge(maxBytes: number): PlatformError {
  return new PlatformError('payload_too_large', { message: `The body is larger than ${maxBytes} bytes.` });
}

function noRoom(): PlatformError {
  return new PlatformError('service_unavailable', {
    message: 'The server holds as many request bodies as it can; send this one again in a moment.',
    retryAfterSeconds: 1,
  });
}
