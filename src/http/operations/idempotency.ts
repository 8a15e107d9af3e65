import type { TenantCaller, VisitorCaller } from '../../kernel/caller.js';
import type { LeaveSignal } from '../../kernel/leave-signal.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';

/**
 * What a repeat with the same `Idempotency-Key` gets, and what holds after the end of a process at any line:
 *
 * - `made`: the first answer. The thing is made in one transaction, which also records it for the key (`recordAudit`
 *   does), so it is made once. An answer that was lost with its process is read again from the thing.
 * - `ids`: the first answer. The handler takes the ids of what it makes from `request.repeat.seed`, so making it again
 *   changes nothing. Once a session or an execution of that id is deleted, the answer is forgotten and a repeat is 404.
 * - `turn`: the same turn, which the handler follows; its ids come from the seed.
 * - `answer`: the first answer. One request of the key runs at a time; if its process ends, a repeat runs anew.
 */
export type IdempotencyRule = 'made' | 'ids' | 'turn' | 'answer' | { readonly exempt: string };

/** What a handler learns of the `Idempotency-Key`. */
export interface Repeat {
  /** A random UUID, the same for every repeat. */
  readonly seed: string;
  /** The request was answered before: what it made is there, unless it was deleted since. */
  readonly isAnswered: boolean;
}

/** An answer in the form in which it is kept. */
export type KeptAnswer =
  | {
      readonly kind: 'json' | 'text' | 'bytes';
      readonly status: number;
      readonly contentType: string;
      readonly headers: Readonly<Record<string, string>>;
      /** JSON text, text, or base64. */
      readonly body: string;
    }
  | {
      readonly kind: 'error';
      readonly code: string;
      readonly message: string;
      readonly details: Readonly<Record<string, unknown>> | undefined;
    };

export interface NamedRequest {
  readonly caller: TenantCaller | VisitorCaller;
  readonly operation: string;
  readonly key: string;
  /** All input that decides the answer. */
  readonly input: unknown;
  readonly leaving: LeaveSignal;
}

export type BegunRequest =
  | {
      readonly state: 'answered';
      readonly seed: string;
      /** What was made, as kind and id; null if that is not recorded. */
      readonly made: string | null;
      /** Null if it was not kept: it was too long, or is a turn to follow. */
      readonly answer: KeptAnswer | null;
    }
  | {
      readonly state: 'held';
      readonly seed: string;
      /** Set if an earlier attempt made its thing and was lost before it answered. */
      readonly made: string | null;
      /** Records in its transaction what the request makes. */
      readonly scope: TenantScope;
      /** Null: repeats are answered without a kept answer. */
      keep(answer: KeptAnswer | null): Promise<void>;
      /**
       * A repeat may begin anew, unless something was made. `keepsSeed`: with the same ids, for what may have begun
       * unnoticed.
       */
      release(keepsSeed?: boolean): Promise<void>;
    };

/** Where requests with an `Idempotency-Key` are kept. */
export interface IdempotentRequests {
  /**
   * Takes the request, or finds its first answer; waits while another attempt works on it. Rejects with
   * `idempotency_key_reused` if the key was used with other input.
   */
  begin(request: NamedRequest): Promise<BegunRequest>;
  readonly report: (attempted: string, error: unknown) => void;
}

/** Longer answers are not kept. */
export const keptBytesMax = 4 * 1024 * 1024;
