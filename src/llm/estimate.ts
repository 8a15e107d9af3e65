/**
 * Estimates tokens that the vendor did not count: before a call, for routing and reservations, and after one that was
 * cut off. Deliberately rough; rows with estimates say so.
 */
import type { CatalogueModel } from './catalogue/model.js';
import type { EmbeddingRequest, FilePart, LlmRequest, Message } from './contract.js';
import { simInputWords } from './sim/input-words.js';
import { sentBound } from './thinking-budget.js';
import { zeroUsage, outputTokens, type Usage } from './usage.js';

const bytesPerToken = 4;
const tokensPerMessage = 4;
/** What the vendors charge for a picture of ordinary size. */
const tokensPerImage = 1000;

/** Most of what only the vendor understands is files in base64, whose length says little about their tokens. */
const opaqueTokensMax = 20_000;

/** Bytes, not characters: scripts with long encodings also take more tokens. */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text, 'utf8') / bytesPerToken);
}

export function estimateInputTokens(request: LlmRequest): number {
  if (request.embedding !== undefined) return tokensToEmbed(request.embedding);
  let tokens = request.messages.reduce((sum, message) => sum + messageTokens(message), 0);
  if (request.tools !== undefined && request.tools.length > 0) {
    tokens += estimateTokens(JSON.stringify(request.tools));
  }
  const opaque = Math.ceil((request.wire?.opaqueBytes ?? 0) / bytesPerToken);
  return tokens + Math.min(opaque, opaqueTokensMax);
}

function tokensToEmbed({ inputs }: EmbeddingRequest): number {
  let tokens = 0;
  for (const input of inputs) tokens += typeof input === 'string' ? estimateTokens(input) : input.length;
  return tokens;
}

/** What counting tells a caller: a model of the simulated vendor counts words. */
export function countInputTokens(request: LlmRequest, model: string): number {
  return model.startsWith('sim.') ? simInputWords(request) : estimateInputTokens(request);
}

function messageTokens(message: Message): number {
  if (message.role === 'system') return tokensPerMessage + estimateTokens(message.content);
  let tokens = tokensPerMessage;
  for (const part of message.content) {
    switch (part.type) {
      case 'image':
        tokens += tokensPerImage;
        break;
      case 'file':
        tokens += documentTokens(part);
        break;
      case 'tool_call':
        tokens += estimateTokens(part.name) + estimateTokens(part.arguments);
        break;
      case 'redacted_thinking':
        tokens += estimateTokens(part.data);
        break;
      default:
        tokens += estimateTokens(part.text);
    }
  }
  return tokens;
}

/** A page is charged as a picture and as its text. Pages of reports have about 60 kB in base64. */
const tokensPerPage = 2_000;
const charactersPerPage = 60_000;

function documentTokens({ source }: FilePart): number {
  const characters = source.kind === 'base64' ? source.data.length : 0;
  return tokensPerPage * Math.max(1, Math.ceil(characters / charactersPerPage));
}

/** The assumed length of an answer without a bound. */
const assumedOutputTokens = 1000;

export function assumedOutput(request: LlmRequest, maxOutputTokens: number): number {
  if (request.embedding !== undefined) return 0;
  return Math.min(request.maxTokens ?? assumedOutputTokens, maxOutputTokens);
}

/**
 * The output that is reserved for a call. A bound of the caller's counts as the vendor gets it: thoughts are billed as
 * output, and `max_tokens: 500` with much effort may be sent as 25,076.
 */
export function reservedOutput(request: LlmRequest, model: CatalogueModel): number {
  const { embedding, maxTokens } = request;
  return embedding === undefined && maxTokens !== undefined
    ? sentBound(model.family, request, model, maxTokens)
    : assumedOutput(request, model.maxOutputTokens);
}

export interface Unfinished {
  readonly request: LlmRequest;
  readonly maxOutputTokens: number;
  readonly reported: Usage | undefined;
  /** The request began to be written. */
  readonly sent: boolean;
  /** A success status arrived. */
  readonly accepted: boolean;
  /** The answer ended by itself: all that the vendor wrote was seen. */
  readonly complete: boolean;
  /** The platform ended it: a time limit passed, the caller left, or the answer was too large. */
  readonly endedByUs: boolean;
  /** A part of the answer was too large to be read. */
  readonly tooLarge: boolean;
  readonly billsCutStreams: boolean;
  readonly seen: { readonly bytes: number; readonly pieces: number };
}

/**
 * The usage that is recorded for an attempt without a proper end, or whose vendor told none. A complete answer is
 * estimated by its text. A vendor that refused or failed before its first piece bills nothing, and neither does one
 * that was never sent the request: the caller left while it was signed, or waited for its connection. A vendor whose
 * connection the platform closed has read the prompt, and bills either what it had written by then or, if leaving does
 * not stop the bill, the whole answer, whose length is unknown. So is that of an answer of which nothing could be read.
 */
export function usageOfUnfinished(attempt: Unfinished): Usage {
  const { request, reported, seen } = attempt;
  const wrote = seen.pieces > 0;
  const billsAll = !request.stream || (attempt.billsCutStreams && attempt.accepted);
  const billedWhole = (attempt.endedByUs && attempt.sent && billsAll) || (attempt.tooLarge && !wrote);
  const wasRead = attempt.accepted && (attempt.complete || attempt.endedByUs);
  if (!wrote && !billedWhole && !wasRead) return reported ?? zeroUsage;
  const input = reported ?? { ...zeroUsage, inputUncached: estimateInputTokens(request) };
  // Many vendors send a piece per token; whichever count is larger is closer to the truth.
  const counted = Math.max(Math.ceil(seen.bytes / bytesPerToken), seen.pieces);
  const known = Math.max(counted, outputTokens(input));
  const output = billedWhole ? Math.max(known, assumedOutput(request, attempt.maxOutputTokens)) : known;
  return {
    ...input,
    outputVisible: Math.max(0, output - input.reasoning),
    source: 'estimated',
    raw: reported?.raw ?? null,
  };
}
