import type { Ready } from '../kernel/ready.js';
import type { EmbeddingRequest, LlmRequest, ReplyItem } from './contract.js';
import type { VendorError } from './vendor-error.js';

/** The least and the most tokens of thoughts that a vendor takes as a budget. */
export interface BudgetBounds {
  readonly min: number;
  readonly max: number;
}

/** The facts of a model that an adapter needs. */
export interface VendorModel {
  /** The vendor's name of the model. */
  readonly name: string;
  readonly maxOutputTokens: number;
  readonly thinkingBudget?: BudgetBounds | undefined;
  readonly capabilities: ReadonlySet<string>;
}

export interface VendorRequest {
  /** Appended to the credential's base address. */
  readonly path: string;
  readonly body: string;
  /** Besides those of every request to the vendor. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request before it is authorized. */
export interface UnsignedRequest {
  readonly method: 'GET' | 'POST';
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Wall clock. */
  readonly nowMs: number;
}

/** The headers that authorize a request; they replace those of the same name. Rejects if no token can be had. */
export type RequestSigner = (request: UnsignedRequest) => Ready<Readonly<Record<string, string>>>;

export interface SseEvent {
  /** Empty if the vendor sends none. */
  readonly event: string;
  readonly data: string;
}

export type Headers = Readonly<Record<string, string | string[] | undefined>>;

export interface ErrorReply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
  /** Wall clock, for `Retry-After` given as a date. */
  readonly nowMs: number;
}

/** Reads one streamed reply. It keeps state between events, so each reply has its own reader. */
export interface StreamReader {
  read(event: SseEvent, out: ReplyItem[]): void;
  /** Whether the vendor announced the end, even if the connection stays open. */
  readonly done: boolean;
  /** Called when the vendor closed the stream: completes open parts, or reports that the answer was cut off. */
  end(out: ReplyItem[]): void;
}

/** How a vendor makes vectors. */
export interface EmbeddingForm {
  toRequest(request: EmbeddingRequest, model: VendorModel): VendorRequest;
  /** Adds the usage, if the vendor told it, and the vectors in the order of the inputs. */
  fromReply(body: unknown, out: ReplyItem[]): void;
}

/** The interface to a vendor: pure functions without sockets and clocks. */
export interface VendorAdapter {
  readonly vendor: string;
  /** Whether the vendor bills a whole answer even if the connection closes early (also when streaming). */
  readonly billsCutStreams: boolean;
  /** Lists the models that a key may use; a wrong key is refused there. Appended to the credential's base address. */
  readonly modelsPath: string;
  /** The base address of that list, if another host than that of the calls has it. */
  readonly modelsBase?: (baseUrl: string) => string;
  toRequest(request: LlmRequest, model: VendorModel): VendorRequest;
  authorization(secret: string | undefined): Readonly<Record<string, string>>;
  reader(): StreamReader;
  /** Absent for vendors without models that make vectors. */
  readonly embeddings?: EmbeddingForm;
  /** How many values a whole reply may have, if what is asked for may have more than usual. */
  readonly replyValuesMax?: (request: LlmRequest, model: VendorModel) => number | undefined;
  /** Converts a whole reply to the items of a stream. */
  fromReply(body: unknown, out: ReplyItem[]): void;
  mapError(reply: ErrorReply): VendorError;
}
