import type { Time, Timer } from '../../../cluster/index.js';
import type { Caller } from '../../kernel/caller.js';
import type { PlatformError } from '../../kernel/errors.js';
import { concerns, type Ending, RecentEndings } from './recent-endings.js';

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

interface Followed {
  readonly stream: Cuttable;
  readonly address: string;
}

/** Streamed answers in progress and open sockets, by the credentials that they depend on. */
export class OpenStreams {
  readonly #byOwner = new Map<string, Set<Followed>>();
  readonly #endings = new RecentEndings();
  readonly #time: Time;

  constructor(time: Time) {
    this.#time = time;
  }

  /** To be taken before a request is authenticated; see `endedSince`. */
  get mark(): number {
    return this.#endings.last;
  }

  /** Whether something that the caller depends on ended after the mark was taken. */
  endedSince(mark: number, caller: Caller): Ending | undefined {
    // Nearly always: nothing at all has ended since.
    if (mark === this.#endings.last) return undefined;
    return this.#endings.since(mark, ownersOf(caller).map(nameOf), caller.address);
  }

  /**
   * Cuts the stream when its credential ends or its token expires, until the returned function is called; at once, if the
   * credential ended after the mark was taken.
   */
  follow(caller: Caller | undefined, stream: Cuttable, mark: number): () => void {
    if (caller === undefined) return notFollowed;
    const ending = this.endedSince(mark, caller);
    if (ending !== undefined) {
      stream.cut(ending.refusal);
      return notFollowed;
    }
    const names = ownersOf(caller).map(nameOf);
    const followed = { stream, address: caller.address };
    for (const name of names) {
      const streams = this.#byOwner.get(name);
      if (streams === undefined) this.#byOwner.set(name, new Set([followed]));
      else streams.add(followed);
    }
    const timer = this.#expiry(caller, stream);
    return () => {
      timer?.cancel();
      for (const name of names) {
        const streams = this.#byOwner.get(name);
        streams?.delete(followed);
        if (streams?.size === 0) this.#byOwner.delete(name);
      }
    };
  }

  #expiry(caller: Caller, stream: Cuttable): Timer | undefined {
    const expiresAtMs = 'expiresAtMs' in caller ? caller.expiresAtMs : undefined;
    if (expiresAtMs === undefined) return undefined;
    const leftMs = Math.max(0, expiresAtMs - this.#time.wallMs());
    return this.#time.after(Math.min(leftMs, timerMsMax), () => stream.cut());
  }

  /** Cuts the streams of the owner, also those that are about to open. */
  cut(owner: StreamOwner, ending: Ending = {}): void {
    const name = nameOf(owner);
    this.#endings.note(name, ending);
    for (const { stream, address } of this.#byOwner.get(name) ?? []) {
      if (concerns(ending, address)) stream.cut(ending.refusal);
    }
  }

  /** For when it is unknown which credentials ended: the clients reconnect and are authenticated again. */
  cutAll(): void {
    this.#endings.noteAll();
    for (const streams of this.#byOwner.values()) for (const { stream } of streams) stream.cut();
  }

  get size(): number {
    return new Set([...this.#byOwner.values()].flatMap((streams) => [...streams])).size;
  }
}

function notFollowed(): void {}

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
