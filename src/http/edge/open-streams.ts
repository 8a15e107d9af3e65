import type { Time, Timer } from '../../../cluster/index.js';
import type { Caller } from '../../kernel/caller.js';
import type { PlatformError } from '../../kernel/errors.js';

/** An open connection that ends together with its credential. */
export interface Cuttable {
  /** `refusal`: what a new request would be refused with, if it is known. */
  cut(refusal?: PlatformError): void;
}

/** The credential of a stream. When it ends, the stream ends. */
export type StreamOwner =
  | { readonly key: string }
  /** A chain of refresh tokens. */
  | { readonly family: string }
  | { readonly user: string }
  /** For streams that end with the tenant. */
  | { readonly tenant: string }
  | { readonly member: string; readonly tenant: string };

/** The longest delay of a timer. A token that lives longer is treated as expired then. */
const timerMsMax = 2 ** 31 - 1;

/** Streamed answers in progress and open sockets, by the credentials that they depend on. */
export class OpenStreams {
  readonly #byOwner = new Map<string, Set<Cuttable>>();
  readonly #time: Time;

  constructor(time: Time) {
    this.#time = time;
  }

  /** Cuts the stream when its credential ends or its token expires, until the returned function is called. */
  follow(caller: Caller | undefined, stream: Cuttable): () => void {
    const names = caller === undefined ? [] : ownersOf(caller).map(nameOf);
    for (const name of names) {
      const streams = this.#byOwner.get(name);
      if (streams === undefined) this.#byOwner.set(name, new Set([stream]));
      else streams.add(stream);
    }
    const timer = this.#expiry(caller, stream);
    return () => {
      timer?.cancel();
      for (const name of names) {
        const streams = this.#byOwner.get(name);
        streams?.delete(stream);
        if (streams?.size === 0) this.#byOwner.delete(name);
      }
    };
  }

  #expiry(caller: Caller | undefined, stream: Cuttable): Timer | undefined {
    const expiresAtMs = caller !== undefined && 'expiresAtMs' in caller ? caller.expiresAtMs : undefined;
    if (expiresAtMs === undefined) return undefined;
    const leftMs = Math.max(0, expiresAtMs - this.#time.wallMs());
    return this.#time.after(Math.min(leftMs, timerMsMax), () => stream.cut());
  }

  cut(owner: StreamOwner, refusal?: PlatformError): void {
    for (const stream of this.#byOwner.get(nameOf(owner)) ?? []) stream.cut(refusal);
  }

  /** For when it is unknown which credentials ended: the clients reconnect and are authenticated again. */
  cutAll(): void {
    for (const streams of this.#byOwner.values()) for (const stream of streams) stream.cut();
  }

  get size(): number {
    return new Set([...this.#byOwner.values()].flatMap((streams) => [...streams])).size;
  }
}

function ownersOf(caller: Caller): readonly StreamOwner[] {
  switch (caller.kind) {
    case 'key':
    case 'visitor':
      return [{ key: caller.keyId }, { tenant: caller.scope.tenantId }];
    case 'user':
      return [
        { user: caller.userId },
        ...(caller.familyId === undefined ? [] : [{ family: caller.familyId }]),
      ];
    case 'tenant-user':
      return [
        { user: caller.userId },
        { tenant: caller.scope.tenantId },
        { member: caller.userId, tenant: caller.scope.tenantId },
        ...(caller.familyId === undefined ? [] : [{ family: caller.familyId }]),
      ];
    default:
      return [];
  }
}

function nameOf(owner: StreamOwner): string {
  return Object.entries(owner).flat().join(' ');
}
