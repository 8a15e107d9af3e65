import type { Caller } from '../../kernel/caller.js';

/** Something open that can be ended because its credential has. */
export interface Cuttable {
  cut(): void;
}

/** What a stream was opened with. When it ends, the stream ends with it. */
export type StreamOwner =
  | { readonly key: string }
  /** A chain of refresh tokens. */
  | { readonly family: string }
  | { readonly user: string }
  | { readonly member: string; readonly tenant: string };

/** No timer waits longer; a token that lives longer is looked at again by then. */
const timerMsMax = 2 ** 31 - 1;

/** Streamed answers that are being written, and open sockets, by what they rest on. */
export class OpenStreams {
  readonly #byGround = new Map<string, Set<Cuttable>>();
  readonly #wallMs: () => number;

  constructor(wallMs: () => number) {
    this.#wallMs = wallMs;
  }

  /** Cuts the stream when its ground is gone or its token expires, until the returned function is called. */
  follow(caller: Caller | undefined, stream: Cuttable): () => void {
    const names = caller === undefined ? [] : groundsOf(caller).map(nameOf);
    for (const name of names) {
      const streams = this.#byGround.get(name);
      if (streams === undefined) this.#byGround.set(name, new Set([stream]));
      else streams.add(stream);
    }
    const timer = this.#expiry(caller, stream);
    return () => {
      clearTimeout(timer);
      for (const name of names) {
        const streams = this.#byGround.get(name);
        streams?.delete(stream);
        if (streams?.size === 0) this.#byGround.delete(name);
      }
    };
  }

  #expiry(caller: Caller | undefined, stream: Cuttable): NodeJS.Timeout | undefined {
    if (caller?.kind !== 'user' && caller?.kind !== 'tenant-user') return undefined;
    const leftMs = Math.max(0, caller.expiresAtMs - this.#wallMs());
    return setTimeout(() => stream.cut(), Math.min(leftMs, timerMsMax)).unref();
  }

  cut(ground: StreamOwner): void {
    for (const stream of this.#byGround.get(nameOf(ground)) ?? []) stream.cut();
  }

  /** For when it is not known which credentials ended: their holders connect again and are judged anew. */
  cutAll(): void {
    for (const streams of this.#byGround.values()) for (const stream of streams) stream.cut();
  }

  get size(): number {
    return new Set([...this.#byGround.values()].flatMap((streams) => [...streams])).size;
  }
}

function groundsOf(caller: Caller): readonly StreamOwner[] {
  switch (caller.kind) {
    case 'key':
      return [{ key: caller.keyId }];
    case 'user':
      return [
        { user: caller.userId },
        ...(caller.familyId === undefined ? [] : [{ family: caller.familyId }]),
      ];
    case 'tenant-user':
      return [
        { user: caller.userId },
        { member: caller.userId, tenant: caller.scope.tenantId },
        ...(caller.familyId === undefined ? [] : [{ family: caller.familyId }]),
      ];
    default:
      return [];
  }
}

function nameOf(ground: StreamOwner): string {
  return Object.entries(ground).flat().join(' ');
}
