import type { TenantCaller } from '../../kernel/caller.js';
import type { Permission } from '../../http/operations/index.js';

export type JsonSchema = Readonly<Record<string, unknown>>;
export type Arguments = Readonly<Record<string, unknown>>;
export type Answer = Readonly<Record<string, unknown>>;

/** Why a tool is for owners and admins only. */
export type AdminClass =
  | 'delete'
  | 'publish'
  | 'versioning'
  | 'secrets'
  | 'members'
  | 'billing'
  | 'denylist'
  | 'session control'
  | 'manual messaging'
  | 'cancel';

/** `R` reads only, `D` is destructive, `I` can be repeated without a further effect, `O` reaches outside the platform. */
export type Hints = '' | 'R' | 'D' | 'I' | 'O' | 'DI' | 'OI' | 'RO';

/** The means of a tool that consists of more than one operation. */
export interface ToolCall {
  readonly caller: TenantCaller;
  readonly signal: AbortSignal;
  readonly requestId: string;
  /** Calls an operation with the tool's arguments, or with others; checks permission and input. */
  operation(name: string, input: OperationInput): Promise<Answer>;
}

/** The parts of a request to an operation. */
export interface OperationInput {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
}

/** A tool: one or more operations of the table with flat arguments. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  /** For a model: when to use the tool, what it returns, what to call next. */
  readonly description: string;
  /** The operation that gives the tool its arguments, its answer and its permission. */
  readonly operation: string;
  readonly permission?: Permission;
  readonly adminClass?: AdminClass;
  readonly hints: Hints;
  /** The argument for a parameter of the path, where it has another name; `null`: the tenant of the caller. */
  readonly params?: Readonly<Record<string, string | null>>;
  /** The argument for a request header. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The alternative of a body that has several, by the value of its `type`. */
  readonly variant?: string;
  /** Fields of the body or query that the tool sets. */
  readonly fixed?: Readonly<Record<string, unknown>>;
  /** Fields of the body or query that the tool does not offer; `a.b` is the field `b` of the argument `a`. */
  readonly omit?: readonly string[];
  /** Descriptions and schemas that replace those of the operation, and further arguments of `run`. */
  readonly arguments?: Readonly<Record<string, JsonSchema>>;
  /** Required arguments besides those of the operation. */
  readonly required?: readonly string[];
  /** Arguments that the operation requires and that `run` fills in where they are missing. */
  readonly optional?: readonly string[];
  /** The schema of the answer, where it is not that of the operation. */
  readonly output?: JsonSchema;
  /** Builds the answer of a tool that is more than its operation. */
  readonly run?: (call: ToolCall, input: OperationInput, args: Arguments) => Promise<Answer>;
}
