import { type ErrorCode, errorKinds, PlatformError } from '../../kernel/errors.js';
import { type KeptAnswer, keptBytesMax } from './idempotency.js';
import { JsonReply, RawReply, StreamReply, type StreamWriter } from './reply.js';

const failed = 400;
const jsonType = 'application/json; charset=utf-8';
/** On an answer that is given again. */
export const replayed = { 'Idempotent-Replayed': 'true' } as const;

/** Undefined for an answer that is not kept: a failure, or one that is too long. */
export function keptFrom(answer: unknown, status: number): KeptAnswer | undefined {
  if (answer instanceof RawReply) {
    const { body, contentType, headers } = answer;
    if (answer.status >= failed) return undefined;
    const form =
      typeof body === 'string'
        ? { kind: 'text' as const, body }
        : { kind: 'bytes' as const, body: Buffer.from(body).toString('base64') };
    return bounded({ ...form, status: answer.status, contentType, headers });
  }
  const reply = answer instanceof JsonReply ? answer : new JsonReply(answer, status);
  if (reply.status >= failed) return undefined;
  const body = JSON.stringify(reply.body);
  return bounded({ kind: 'json', status: reply.status, contentType: jsonType, headers: reply.headers, body });
}

/** Refusals that stay are answers like others; undefined for failures that a repeat may not meet again. */
export function keptFromError(error: unknown): KeptAnswer | undefined {
  if (!(error instanceof PlatformError) || error.status >= 500) return undefined;
  if (errorKinds[error.code].retry === 'later' || error.code === 'client_closed') return undefined;
  const { code, message, details } = error;
  return bounded({ kind: 'error', code, message, details });
}

/** The kept answer as the operation's; throws the kept refusal. */
export function answerFrom(kept: KeptAnswer): JsonReply<unknown> | RawReply {
  if (kept.kind === 'error') {
    const { code, message, details } = kept;
    throw PlatformError.again(code as ErrorCode, {
      message,
      ...(details === undefined ? {} : { details }),
      headers: replayed,
    });
  }
  const { kind, status, contentType, body } = kept;
  const headers = { ...kept.headers, ...replayed };
  if (kind === 'json') return new JsonReply(JSON.parse(body) as unknown, status, headers);
  const content = kind === 'text' ? body : Buffer.from(body, 'base64');
  return new RawReply(contentType, content, { status, headers });
}

/**
 * The same stream, whose text is kept once it is complete. `done` is told the answer to keep, or undefined if the client
 * left, the stream failed, or it is too long.
 */
export function keptStream(
  stream: StreamReply,
  done: (kept: KeptAnswer | undefined) => Promise<void>,
): StreamReply {
  const { contentType, headers, opening, refusal } = stream;
  const run = async (writer: StreamWriter): Promise<string> => {
    const copy = new Copy(writer, opening);
    let kept: KeptAnswer | undefined;
    try {
      const rest = (await stream.run(copy)) ?? '';
      copy.add(rest);
      const body = writer.gone.aborted ? undefined : copy.text;
      if (body !== undefined) kept = { kind: 'text', status: 200, contentType, headers, body };
      return rest;
    } finally {
      await done(kept);
    }
  };
  return new StreamReply(contentType, run, headers, opening, refusal);
}

class Copy implements StreamWriter {
  readonly #writer: StreamWriter;
  #parts: string[] | undefined = [];
  #length = 0;

  constructor(writer: StreamWriter, opening: string) {
    this.#writer = writer;
    this.add(opening);
  }

  get gone(): AbortSignal {
    return this.#writer.gone;
  }

  /** Undefined if the stream failed or is too long. */
  get text(): string | undefined {
    return this.#parts?.join('');
  }

  write(chunk: string | Uint8Array): boolean {
    this.add(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8'));
    return this.#writer.write(chunk);
  }

  drained(): Promise<void> {
    return this.#writer.drained();
  }

  cut(): void {
    this.#writer.cut?.();
  }

  failed(): void {
    this.#parts = undefined;
    this.#writer.failed?.();
  }

  add(text: string): void {
    this.#length += text.length;
    if (this.#length > keptBytesMax) this.#parts = undefined;
    this.#parts?.push(text);
  }
}

function bounded(kept: KeptAnswer): KeptAnswer | undefined {
  const length = kept.kind === 'error' ? JSON.stringify(kept).length : kept.body.length;
  return length > keptBytesMax ? undefined : kept;
}
