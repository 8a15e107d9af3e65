import type { Time } from '../../../cluster/index.js';
import type { ByteBudget, ByteHolder } from '../../kernel/byte-budget.js';
import { PlatformError } from '../../kernel/errors.js';
import { type BodyRules, JsonSize, refuseOversized } from '../operations/index.js';
import { BodyBlocks } from './body-blocks.js';

export interface BodyTerms {
  readonly rules: BodyRules;
  /** The declared length; 0 if there is none. */
  readonly contentLength: number;
  readonly isChunked: boolean;
  readonly budget: ByteBudget;
  /** The client that the bytes count for in the budget. */
  readonly client: string;
  readonly time: Pick<Time, 'soon'>;
}

/** Follows the rest of a refused body: `rest` for each further piece, `end` after the last one. */
export interface RestListener {
  rest(bytes: number): void;
  end(): void;
}

/**
 * The body of one request, as the native side delivers it. The bytes are kept until they are read; after a refusal,
 * further bytes are counted and dropped.
 */
export class IncomingBody implements ByteHolder {
  /** The whole body; rejects as soon as there is a reason to refuse it. */
  readonly bytes: Promise<Uint8Array>;
  readonly #terms: BodyTerms;
  readonly #size: JsonSize | undefined;
  #blocks: BodyBlocks | undefined = new BodyBlocks();
  #received = 0;
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
    // If the request is refused before its body is read, nothing awaits this promise; its rejection is then irrelevant.
    this.bytes.catch(() => undefined);
    if (terms.contentLength > terms.rules.maxBytes) this.fail(tooLarge(terms.rules.maxBytes));
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** The number of bytes still to come; undefined for a chunked body. */
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
    const { rules, budget, client, isChunked, time } = this.#terms;
    if (this.#received > rules.maxBytes) return this.fail(tooLarge(rules.maxBytes));
    const growth = blocks.growthFor(piece.length);
    if (growth > 0 && !budget.hold(client, this, growth)) return this.fail(noRoom());
    try {
      if (this.#size !== undefined) refuseOversized(this.#size, piece);
    } catch (error) {
      return this.fail(error);
    }
    // The native memory is valid only during this call, so the bytes are copied.
    blocks.add(piece);
    if (!isLast) return;
    // It is parsed next.
    budget.keep(client, this);
    // Parsers disagree on where a chunked body ends. The native side reads the bytes behind it as the next request as soon
    // as this call returns; while this request has no answer, that closes the connection.
    const whole = blocks.whole();
    if (isChunked) time.soon(() => this.#resolve(whole));
    else this.#resolve(whole);
  }

  /** Refuses the body; further calls have no effect. */
  fail(error: unknown): void {
    this.drop();
    this.#reject(error);
  }

  evict(): void {
    this.fail(noRoom());
  }

  /** The bytes are no longer needed: returns the held bytes to the budget and keeps no further ones. */
  drop(): void {
    this.#blocks = undefined;
    const { budget, client } = this.#terms;
    budget.free(client, this);
  }

  /** Reports the bytes that arrive after a refusal. */
  follow(listener: RestListener): void {
    this.#listener = listener;
  }
}

function tooLarge(maxBytes: number): PlatformError {
  return new PlatformError('payload_too_large', {
    message: `The body is larger than ${maxBytes} bytes, the most that this operation takes.`,
  });
}

function noRoom(): PlatformError {
  return new PlatformError('service_unavailable', {
    message: 'The server holds too many request bodies; retry in a moment.',
    retryAfterSeconds: 1,
  });
}
