import type { LlmRequest, ReplyItem } from './contract.js';
import type { VendorError } from './vendor-error.js';

/** What an adapter needs to know of the model that it asks. */
export interface VendorModel {
  /** The vendor's own name of it. */
  readonly name: string;
  readonly maxOutputTokens: number;
  readonly capabilities: ReadonlySet<string>;
}

export interface VendorRequest {
  /** Appended to the credential's base address. */
  readonly path: string;
  readonly body: string;
}

export interface SseEvent {
  /** Empty where the vendor names none. */
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

/** Reads one streamed reply. It keeps what must be kept from event to event, so each reply gets its own. */
export interface StreamReader {
  read(event: SseEvent, out: ReplyItem[]): void;
  /** The vendor said that nothing more will come, whether or not it closes the connection. */
  readonly done: boolean;
  /** The vendor closed the stream: completes what it left open, or says that the answer was cut off. */
  end(out: ReplyItem[]): void;
}

/** The seam to a vendor: pure functions, no sockets and no clocks. */
export interface VendorAdapter {
  readonly vendor: string;
  /** Whether a call whose connection closes early is billed whole all the same (streamed ones included). */
  readonly billsCutStreams: boolean;
  toRequest(request: LlmRequest, model: VendorModel): VendorRequest;
  authorization(secret: string | undefined): Readonly<Record<string, string>>;
  reader(): StreamReader;
  /** A whole reply, as the items that a stream would have given. */
  fromReply(body: unknown, out: ReplyItem[]): void;
  mapError(reply: ErrorReply): VendorError;
}
