import type { z } from 'zod';
import type { Caller } from '../../kernel/caller.js';
import type { LeaveSignal } from '../../kernel/leave-signal.js';
import type { ErrorCode, PlatformError } from '../../kernel/errors.js';
import type { Access } from './access.js';
import type { AnswerHeader } from './answer-headers.js';
import type { AuditRule } from './audit-rule.js';
import type { Dialect } from './dialect.js';
import type { IdempotencyRule, Repeat } from './idempotency.js';
import type { JsonObject } from './merge-patch.js';
import type { JsonReply, RawReply, SocketReply, StreamReply } from './reply.js';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * Which windows count a request. `request`: that of the key, the user or the address. `model-work`: that of the key and
 * that of the tenant. `uncounted`: none (health, metrics, documents, keys for verification).
 */
export type RateClass = 'request' | 'model-work' | 'uncounted';

/** What an operation says of a thing that does not exist. */
export type AbsenceCode = Extract<ErrorCode, 'not_found' | 'agent_not_found' | 'tenant_not_found'>;

/** Rules for the body. */
export interface BodyRules {
  readonly maxBytes: number;
  /** The most bytes without the images and files of a model call; only where the body may hold these. */
  readonly textBytesMax?: number;
  /** `raw`: any content type, passed as bytes for the handler to parse (webhooks). */
  readonly form: 'json' | 'raw';
  /** `refuse` answers 400 to `__proto__` and similar names; `pass` leaves them to the handler, which must drop them. */
  readonly prototypeNames: 'refuse' | 'pass';
}

/** `refuse`: 400 with the closest known name. `ignore`: as clients of vendors and payloads of other systems need it. */
export type UnknownFields = 'refuse' | 'ignore';

/** What the documents show of an operation where the schemas that serve it say less. */
export interface Shown {
  /** The body, where the handler parses it itself. */
  readonly body?: z.ZodType;
  readonly bodyTypes?: readonly string[];
  readonly bodyExample?: unknown;
  /** The answer, where its form is an outside protocol's. */
  readonly output?: z.ZodType;
  readonly outputExample?: unknown;
  /** One event of the stream that the operation answers, or answers on request. */
  readonly events?: z.ZodType;
  /** The stream as a client receives it. */
  readonly eventsExample?: string;
  /** Headers of the answer besides those of every answer. */
  readonly headers?: readonly AnswerHeader[];
  /** The bodies of errors that are not in the form of the dialect, by status. */
  readonly errors?: Readonly<Record<number, z.ZodType>>;
}

/** One admitted and validated request, as its handler sees it. */
export interface OperationRequest<
  Who extends Caller = Caller,
  Params = unknown,
  Query = unknown,
  Body = unknown,
> {
  readonly caller: Who;
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** The unparsed body, if the operation takes it raw. */
  readonly rawBody: Uint8Array;
  /** The query string without `?`, unparsed; for signatures over the URL. */
  readonly rawQuery: string;
  /** Only the headers that the operation declares, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly requestId: string;
  /**
   * The answer of a tool enters a model's context, so a secret that the handler makes goes into the tenant's vault then, in
   * the transaction of what it belongs to. Absent: it goes into the answer.
   */
  readonly secretsTo?: 'vault' | undefined;
  /** Set if the request has an `Idempotency-Key` and the operation has a rule for it. */
  readonly repeat?: Repeat | undefined;
  /** The answer has no body, and a stream is not run: whoever opens one before does not, as nothing would end it. */
  readonly isHead?: boolean | undefined;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
  /** The same at a tenth of the cost, for operations called thousands of times per second. */
  readonly leaving: LeaveSignal;
}

export type Answer<Output> =
  | Output
  | JsonReply<Output>
  | RawReply
  | StreamReply
  | SocketReply
  | Promise<Output | JsonReply<Output> | RawReply | StreamReply | SocketReply>;

type Handler<Who extends Caller, P, Q, B, Output> = {
  // Method parameters are bivariant, so one table can hold handlers of different requests. The pipeline passes each
  // handler only values that its own schemas produced.
  handle(request: OperationRequest<Who, P, Q, B>): Answer<Output>;
};

export interface Declaration<
  Who extends Caller,
  P extends z.ZodType,
  Q extends z.ZodType,
  B extends z.ZodType,
  O extends z.ZodType,
> {
  /** `subject.verb`, unique. */
  readonly name: string;
  readonly method: Method;
  /** Parameters as `:name`. */
  readonly path: string;
  readonly title: string;
  readonly description?: string;
  readonly access: Access<Who>;
  readonly rate?: RateClass;
  readonly dialect?: Dialect;
  /** The action of the audit entry. The table refuses an operation that changes something and has none. */
  readonly audit?: AuditRule;
  /** Fields that the operation sets whatever its body, for the audit entry; those that its own GET answers. */
  readonly sets?: JsonObject;
  /** What `Idempotency-Key` does. The table refuses a POST that may make something and has no rule. */
  readonly idempotency?: IdempotencyRule;
  /** What happens to fields and query parameters that the schemas do not have; default: see `declare`. */
  readonly unknownFields?: UnknownFields;
  /** `WWW-Authenticate` of a refused credential, for clients that can sign in by it. */
  readonly challenge?: () => string;
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  readonly bodyRules?: Partial<BodyRules>;
  readonly output: O;
  /** Status of a successful answer; default 200. */
  readonly status?: number;
  /** Content type of an answer that is not JSON, for the documents. */
  readonly contentType?: string;
  /** Request headers that the handler reads, lower case. */
  readonly headers?: readonly string[];
  /** Errors besides those that every operation can return. */
  readonly errors?: readonly ErrorCode[];
  /** The error code for a malformed id in the path: no such resource can exist. */
  readonly absent?: AbsenceCode;
  readonly shown?: Shown;
  readonly handle: Handler<Who, z.output<P>, z.output<Q>, z.output<B>, z.input<O>>['handle'];
}

/** A declaration with defaults applied and the handler's types hidden: one row of the table. */
export interface Operation {
  readonly name: string;
  readonly method: Method;
  readonly path: string;
  readonly title: string;
  readonly description: string;
  readonly access: Access;
  readonly rate: RateClass;
  readonly dialect: Dialect;
  readonly audit: AuditRule | undefined;
  readonly sets?: JsonObject | undefined;
  readonly idempotency: IdempotencyRule | undefined;
  readonly unknownFields: UnknownFields;
  readonly challenge: (() => string) | undefined;
  readonly params: z.ZodType | undefined;
  readonly query: z.ZodType | undefined;
  readonly body: z.ZodType | undefined;
  readonly bodyRules: BodyRules;
  readonly output: z.ZodType;
  readonly status: number;
  readonly contentType: string;
  readonly headers: readonly string[];
  readonly errors: readonly ErrorCode[];
  readonly absent: AbsenceCode;
  readonly shown: Shown;
  handle(request: OperationRequest): Answer<unknown>;
  /** Set by the table where a refused attempt is an audit entry: to be called for refusals before the handler. */
  readonly refused?: (request: RefusedRequest, error: PlatformError) => Promise<void>;
}

/** What is known of a request that was refused before its input was read. */
export type RefusedRequest = Pick<OperationRequest, 'caller' | 'params' | 'requestId'>;

const bodyBytesMax = 1024 * 1024;

export function declare<
  Who extends Caller,
  P extends z.ZodType,
  Q extends z.ZodType,
  B extends z.ZodType,
  O extends z.ZodType,
>(declaration: Declaration<Who, P, Q, B, O>): Operation {
  const { handle } = declaration as Handler<Caller, unknown, unknown, unknown, unknown>;
  return {
    name: declaration.name,
    method: declaration.method,
    path: declaration.path,
    title: declaration.title,
    description: declaration.description ?? '',
    access: declaration.access,
    rate: declaration.rate ?? 'request',
    dialect: declaration.dialect ?? 'general',
    audit: declaration.audit,
    sets: declaration.sets,
    idempotency: declaration.idempotency,
    unknownFields: declaration.unknownFields ?? unknownFieldsOf(declaration),
    challenge: declaration.challenge,
    params: declaration.params,
    query: declaration.query,
    body: declaration.body,
    bodyRules: {
      maxBytes: bodyBytesMax,
      form: 'json',
      prototypeNames: 'refuse',
      ...declaration.bodyRules,
    },
    output: declaration.output,
    status: declaration.status ?? 200,
    contentType: declaration.contentType ?? 'application/json',
    headers: declaration.headers ?? [],
    errors: declaration.errors ?? [],
    absent: declaration.absent ?? 'not_found',
    shown: declaration.shown ?? {},
    handle,
  };
}

/** Management refuses what it does not know; interfaces with rules of their own, raw bodies and probes ignore it. */
function unknownFieldsOf({
  dialect = 'general',
  bodyRules,
  rate,
}: {
  readonly dialect?: Dialect;
  readonly bodyRules?: Partial<BodyRules>;
  readonly rate?: RateClass;
}): UnknownFields {
  const hasOwnRules = dialect === 'invocation' || dialect === 'openai' || dialect === 'anthropic';
  return hasOwnRules || bodyRules?.form === 'raw' || rate === 'uncounted' ? 'ignore' : 'refuse';
}
