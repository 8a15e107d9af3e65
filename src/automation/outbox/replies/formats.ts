import type { ResponseFormat } from '../../triggers/config/webhook-config.js';

/** The result of a synchronous call. */
export interface SyncResult {
  readonly success: boolean;
  readonly triggerId: string;
  readonly agentId: string;
  readonly executionId: string;
  readonly text: string;
  /** The text in pieces, for formats that are lists. */
  readonly chunks: readonly string[];
  /** The text in messages of a length that the channel takes; undefined for one. */
  readonly messages?: readonly string[] | undefined;
  readonly totalTokens: number;
  readonly latencyMs: number;
  /** Set if the turn failed. */
  readonly errorCode?: string | undefined;
}

/** A response body with its type, as sent and as kept for a repeat of the request. */
export interface Rendered {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

export const jsonType = 'application/json; charset=utf-8';
const xmlType = 'text/xml; charset=utf-8';

/** Renders the result in the trigger's response format. */
export function renderSync(format: ResponseFormat, result: SyncResult): Rendered {
  switch (format) {
    case 'raw':
      return json(rawBody(result));
    case 'erp':
      return json(result.chunks.map((message) => ({ message, type: 'text' })));
    case 'slack':
      return json({ response_type: 'in_channel', text: result.text });
    case 'teams':
      return json({ type: 'message', text: result.text });
    case 'twiml':
      return twiml(result.messages ?? [result.text]);
  }
}

function rawBody(result: SyncResult): object {
  return {
    success: result.success,
    trigger_id: result.triggerId,
    agent_id: result.agentId,
    agent_response: result.text,
    execution_id: result.executionId,
    usage: { total_tokens: result.totalTokens },
    latency_ms: result.latencyMs,
    ...(result.errorCode === undefined ? {} : { error: result.errorCode }),
  };
}

export function json(body: unknown, status = 200): Rendered {
  return { status, contentType: jsonType, body: JSON.stringify(body) };
}

function twiml(texts: readonly string[]): Rendered {
  const messages = texts
    .filter((text) => text !== '')
    .map((text) => `<Message>${xmlText(text)}</Message>`)
    .join('');
  const body = `<Response>${messages}</Response>`;
  return { status: 200, contentType: xmlType, body };
}

/** The response to a blocked sender: an empty reply that every channel understands. */
export const emptyTwiml: Rendered = {
  status: 200,
  contentType: 'text/xml',
  body: '<Response></Response>',
};

/** Removes characters that XML cannot represent. */
function xmlText(text: string): string {
  return text
    .replaceAll(/[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu, '')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
}
