/** The types of the client's methods, from the types of the document. */
import type { Listing } from './listing.js';

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Makes a repeat of the request the same request, for 24 hours. Random by default, where the operation takes one. */
  readonly idempotencyKey?: string | undefined;
  /** How often the request is tried again. */
  readonly retries?: number | undefined;
  /** The time for the answer, with the credentials that are asked for before; of a file, for its head. */
  readonly timeoutMs?: number | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Method, path, and what the operation accepts: `k` key, `u` user, `o` operator, `i` Idempotency-Key; `l` list, `r` raw. */
export type Route = readonly [method: string, path: string, flags: string];

type Part<Op, Place extends string> = Op extends { readonly parameters: infer Parameters }
  ? Place extends keyof Parameters
    ? Exclude<Parameters[Place], undefined>
    : never
  : never;

type BodyOf<Op> = Op extends { readonly requestBody?: infer Body }
  ? Exclude<Body, undefined> extends { readonly content: infer Content }
    ? Content[keyof Content]
    : never
  : never;

type Content<Answer> = Answer extends { readonly content: { readonly 'application/json': infer Json } }
  ? Json
  : never;

/** The JSON of the successful answers. */
export type AnswerOf<Op> = Op extends { readonly responses: infer Responses }
  ? { [Status in keyof Responses & (200 | 201 | 202)]: Content<Responses[Status]> }[keyof Responses &
      (200 | 201 | 202)]
  : never;

/** Absent where the operation has none, optional where nothing in it is required. */
type Member<Name extends string, Value> = [Value] extends [never]
  ? { readonly [key in Name]?: never }
  : Partial<Value> extends Value
    ? { readonly [key in Name]?: Value }
    : { readonly [key in Name]: Value };

export type InputOf<Op> = Member<'path', Part<Op, 'path'>> &
  Member<'query', Part<Op, 'query'>> &
  Member<'body', BodyOf<Op>>;

type Arguments<Op> =
  Partial<InputOf<Op>> extends InputOf<Op>
    ? [input?: InputOf<Op>, options?: CallOptions]
    : [input: InputOf<Op>, options?: CallOptions];

/** Resolves with the JSON of the answer; rejects with an `ApiError` or a `ConnectionError`. */
export type Call<Op> = (...given: Arguments<Op>) => Promise<AnswerOf<Op>>;

/** Resolves with the first page; iterated, it gives the items of all pages. */
export type ListCall<Op> = (...given: Arguments<Op>) => Listing<AnswerOf<Op>>;

/** Resolves with the answer, whose body is not JSON: a file, or text. */
export type RawCall<Op> = (...given: Arguments<Op>) => Promise<Response>;
