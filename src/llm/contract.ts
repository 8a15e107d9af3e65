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

export interface TextPart {
  readonly type: 'text';
  readonly text: string;
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
  readonly source: PartSource;
  /** The place of the part in the caller's request, for a refusal. */
  readonly field?: string;
}

/** A document, such as a PDF, that the vendor itself reads. */
export interface FilePart {
  readonly type: 'file';
  readonly source: PartSource;
  readonly name?: string;
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
}

export type UserPart = TextPart | ContextPart | ImagePart | FilePart;
export type AssistantPart = TextPart | ThinkingPart | RedactedThinkingPart | ToolCallPart;

export interface SystemMessage {
  readonly role: 'system';
  readonly content: string;
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
}

export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage;

export interface ToolDefinition {
  readonly name: string;
  readonly description?: string;
  /** JSON Schema of the arguments, always an object. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string };

export type ResponseFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json' }
  | {
      readonly type: 'json_schema';
      readonly name: string;
      readonly schema: Readonly<Record<string, unknown>>;
    };

export type ReasoningEffort = 'none' | 'low' | 'medium' | 'high';

export interface LlmRequest {
  readonly messages: readonly Message[];
  readonly tools?: readonly ToolDefinition[];
  readonly toolChoice?: ToolChoice;
  readonly parallelToolCalls?: boolean;
  readonly temperature?: number;
  readonly topP?: number;
  readonly maxTokens?: number;
  readonly stop?: readonly string[];
  readonly seed?: number;
  readonly responseFormat?: ResponseFormat;
  readonly reasoningEffort?: ReasoningEffort;
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
  | { readonly type: 'content'; readonly text: string }
  | { readonly type: 'content_signature'; readonly signature: string }
  | { readonly type: 'thinking'; readonly text: string }
  | { readonly type: 'thinking_end'; readonly signature: string | undefined }
  | { readonly type: 'redacted_thinking'; readonly data: string }
  | {
      readonly type: 'tool_call_start';
      readonly index: number;
      readonly id: string;
      readonly name: string;
      readonly signature?: string;
    }
  | { readonly type: 'tool_call_arguments'; readonly index: number; readonly text: string }
  | { readonly type: 'tool_call_end'; readonly index: number }
  /** Cumulative: a later one replaces an earlier one. */
  | { readonly type: 'usage'; readonly usage: Usage }
  | { readonly type: 'stop'; readonly reason: StopReason; readonly raw: string }
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
      return true;
    default:
      return false;
  }
}
