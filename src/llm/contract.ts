/**
 * The platform's own form of a model call, the same for all vendors. Adapters translate it to a vendor's
 * request and the vendor's reply back; nothing above them knows a vendor's names.
 */
import type { Usage } from './usage.js';
import type { VendorError } from './vendor-error.js';

/**
 * The maker of a signed part. A signature is valid only for the vendor, the model and the account that made it, so parts
 * carry their origin and are left out for other targets (`history.ts`).
 */
export interface Origin {
  readonly vendor: string;
  readonly model: string;
  readonly credentialId: string;
}

/** The prompt up to here stays the same in later calls. Vendors that take such marks keep it, and charge less for it then. */
export interface CacheMark {
  readonly ttl: '5m' | '1h';
}

export interface TextPart {
  readonly type: 'text';
  readonly text: string;
  readonly cache?: CacheMark;
  /** Some vendors sign plain text too; replayed like the signature of a thought. */
  readonly signature?: string;
  readonly origin?: Origin;
}

/** The data block that a caller declared: it travels with the user's message, and is not the user's own text. */
export interface ContextPart {
  readonly type: 'context';
  readonly text: string;
}

export type PartSource =
  | { readonly kind: 'base64'; readonly mediaType: string; readonly data: string }
  | { readonly kind: 'url'; readonly url: string };

export interface ImagePart {
  readonly type: 'image';
  readonly cache?: CacheMark;
  readonly source: PartSource;
  /** The place of the part in the caller's request, for a refusal. */
  readonly field?: string;
}

/** A document, such as a PDF, that the vendor itself reads. */
export interface FilePart {
  readonly type: 'file';
  readonly source: PartSource;
  readonly name?: string;
  readonly cache?: CacheMark;
  /** The place of the part in the caller's request, for a refusal. */
  readonly field?: string;
}

export interface ThinkingPart {
  readonly type: 'thinking';
  readonly text: string;
  /** Opaque data that the vendor expects back. */
  readonly signature?: string;
  readonly origin?: Origin;
}

/** A thought that the vendor sends only encrypted. */
export interface RedactedThinkingPart {
  readonly type: 'redacted_thinking';
  readonly data: string;
  readonly origin?: Origin;
}

export interface ToolCallPart {
  readonly type: 'tool_call';
  readonly id: string;
  readonly name: string;
  /** JSON text as the model wrote it, which need not be valid JSON. */
  readonly arguments: string;
  readonly signature?: string;
  readonly origin?: Origin;
  readonly cache?: CacheMark;
}

export type UserPart = TextPart | ContextPart | ImagePart | FilePart;
export type AssistantPart = TextPart | ThinkingPart | RedactedThinkingPart | ToolCallPart;

export interface SystemMessage {
  readonly role: 'system';
  readonly content: string;
  readonly cache?: CacheMark;
}

export interface UserMessage {
  readonly role: 'user';
  readonly content: readonly UserPart[];
}

export interface AssistantMessage {
  readonly role: 'assistant';
  readonly content: readonly AssistantPart[];
}

export interface ToolMessage {
  readonly role: 'tool';
  readonly callId: string;
  readonly name: string;
  readonly content: readonly (TextPart | ImagePart)[];
  readonly isError?: boolean;
  readonly cache?: CacheMark;
}

export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage;

export interface ToolDefinition {
  readonly name: string;
  readonly description?: string;
  /** JSON Schema of the arguments, always an object. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** The vendor holds the arguments to the schema. */
  readonly strict?: boolean;
  readonly cache?: CacheMark;
}

export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string };

export type ResponseFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json' }
  | {
      readonly type: 'json_schema';
      readonly name: string;
      readonly schema: Readonly<Record<string, unknown>>;
      readonly strict?: boolean;
      readonly description?: string;
    };

/** Texts, or texts as tokens of the model's own vocabulary, of which a model makes one vector each. */
export interface EmbeddingRequest {
  readonly inputs: readonly string[] | readonly (readonly number[])[];
  /** The length of the vectors; absent: the model's own. */
  readonly dimensions?: number;
  /** What the caller wants. A vendor that has both is asked for the same. */
  readonly encoding: 'float' | 'base64';
}

/** Numbers, or 32-bit floats with the lowest byte first, in base64. */
export type EmbeddingVector = readonly number[] | string;

export type ReasoningEffort = 'none' | 'low' | 'medium' | 'high';

/** The two formats of requests that callers may use besides the platform's own. */
export type WireDialect = 'chat' | 'messages';

/**
 * A request as its caller wrote it. A vendor of the same format gets this body, so that nothing is lost; for other
 * vendors the fields decide (`wire/field-table.ts`).
 */
export interface WireRequest {
  readonly dialect: WireDialect;
  readonly body: Readonly<Record<string, unknown>>;
  /** Headers of the format, such as `anthropic-beta`. */
  readonly headers: Readonly<Record<string, string>>;
  /** What the body asks for: the name in the table, and the place in the body. */
  readonly fields: readonly WireField[];
  /** The length of the parts that the platform's own form does not hold, for the estimate of the prompt. */
  readonly opaqueBytes: number;
}

export interface WireField {
  readonly field: string;
  readonly path: string;
}

export interface LlmRequest {
  readonly messages: readonly Message[];
  readonly tools?: readonly ToolDefinition[];
  readonly toolChoice?: ToolChoice;
  readonly parallelToolCalls?: boolean;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly presencePenalty?: number;
  readonly frequencyPenalty?: number;
  readonly maxTokens?: number;
  readonly stop?: readonly string[];
  readonly seed?: number;
  readonly responseFormat?: ResponseFormat;
  readonly reasoningEffort?: ReasoningEffort;
  /** The exact bound of thoughts in tokens, for vendors that take one; `reasoningEffort` is set beside it. */
  readonly thinkingBudget?: number;
  /** Later calls repeat this prompt: it is marked for vendors that keep what is marked. */
  readonly cachePrompt?: boolean;
  readonly wire?: WireRequest;
  /** The call asks for vectors instead of an answer: `messages` is empty and `stream` false. */
  readonly embedding?: EmbeddingRequest;
  /** Whether the vendor streams; a caller that wants a whole answer may still be served from a stream. */
  readonly stream: boolean;
}

/** The documents that vendors read. */
export const documentType = 'application/pdf';

/** What a model must accept to read the part; undefined if no model does. */
function capabilityFor({ type, source }: ImagePart | FilePart): string | undefined {
  if (type === 'image') return 'vision';
  // Few vendors fetch documents themselves.
  if (source.kind === 'url') return 'document_urls';
  return source.mediaType === documentType ? 'documents' : undefined;
}

/** The first part of the request that a model with these capabilities cannot take. */
export function unreadablePart(
  { messages }: Pick<LlmRequest, 'messages'>,
  capabilities: ReadonlySet<string>,
): ImagePart | FilePart | undefined {
  for (const message of messages) {
    if (message.role !== 'user' && message.role !== 'tool') continue;
    for (const part of message.content) {
      if (part.type !== 'image' && part.type !== 'file') continue;
      const needed = capabilityFor(part);
      if (needed === undefined || !capabilities.has(needed)) return part;
    }
  }
  return undefined;
}

export type StopReason =
  | 'stop'
  | 'stop_sequence'
  | 'length'
  | 'tool_calls'
  | 'content_filter'
  | 'refusal'
  | 'context_overflow'
  | 'pause'
  | 'error'
  | 'other';

/** The events of a model's answer, in the order of arrival. */
export type LlmEvent =
  | { readonly type: 'start'; readonly id: string | undefined; readonly model: string | undefined }
  /** `refusal`: the vendor marks the text as its refusal, in a field of its own. */
  | { readonly type: 'content'; readonly text: string; readonly refusal?: true }
  /** The text so far is one block; text that follows is another. Only vendors whose blocks carry more than text say so. */
  | { readonly type: 'content_end' }
  | { readonly type: 'content_signature'; readonly signature: string }
  | { readonly type: 'thinking'; readonly text: string }
  | { readonly type: 'thinking_end'; readonly signature: string | undefined }
  | { readonly type: 'redacted_thinking'; readonly data: string }
  | {
      readonly type: 'tool_call_start';
      readonly index: number;
      /** Empty from an adapter whose vendor gave none; callers get one that is unique within the conversation. */
      readonly id: string;
      readonly name: string;
      readonly signature?: string;
    }
  | { readonly type: 'tool_call_arguments'; readonly index: number; readonly text: string }
  | { readonly type: 'tool_call_end'; readonly index: number }
  | { readonly type: 'embedding'; readonly index: number; readonly vector: EmbeddingVector }
  /** Cumulative: a later one replaces an earlier one. */
  | { readonly type: 'usage'; readonly usage: Usage }
  | {
      readonly type: 'stop';
      readonly reason: StopReason;
      readonly raw: string;
      /** The text of the caller's that ended the answer. */
      readonly sequence?: string;
    }
  /**
   * What a piece of a stream holds beside its text and calls, such as `logprobs`: passed on to callers of the same
   * format.
   */
  | {
      readonly type: 'chat_extra';
      readonly delta: Readonly<Record<string, unknown>>;
      readonly choice: Readonly<Record<string, unknown>>;
      readonly root: Readonly<Record<string, unknown>>;
    }
  /** A whole reply as the vendor wrote it, for callers of the same format. */
  | {
      readonly type: 'whole_reply';
      readonly dialect: WireDialect;
      readonly body: Readonly<Record<string, unknown>>;
    }
  /** Unknown to the adapter. Passed on for logs and for compatible interfaces of the same format; never an error. */
  | { readonly type: 'unknown'; readonly raw: unknown };

/** An item that an adapter reads from a reply: an event, or a failure that the vendor reported inside a success status. */
export type ReplyItem = LlmEvent | { readonly type: 'failure'; readonly error: VendorError };

/**
 * Content, a thought or a tool call: from here on the answer belongs to this model. Role-only chunks, message starts
 * and pings are none.
 */
export function isSignal(item: ReplyItem): boolean {
  switch (item.type) {
    case 'content':
    case 'thinking':
      return item.text !== '';
    case 'redacted_thinking':
    case 'tool_call_start':
    case 'tool_call_arguments':
    case 'embedding':
      return true;
    default:
      return false;
  }
}
