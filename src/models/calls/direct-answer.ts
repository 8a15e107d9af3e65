/** The answers of direct calls: whole or streamed. */
import type { PlatformError } from '../../kernel/errors.js';
import type { LlmEvent } from '../../llm/index.js';
import { JsonReply, type RawReply } from '../../http/operations/index.js';
import type { RunningCall, ServedCall } from './model-calls.js';
import { payerHeaders, toNobody } from './replies.js';
import { type CallAnswer, usageOf } from './shapes.js';
import type { StreamForm } from './stream-answer.js';

export async function wholeAnswer(call: RunningCall): Promise<JsonReply<CallAnswer> | RawReply> {
  let response = '';
  const served = await call.run((events) => {
    for (const event of events) if (event.type === 'content') response += event.text;
  });
  if (served === undefined) return toNobody;
  return new JsonReply(answerOf(served, response), 200, payerHeaders(served.payer));
}

function answerOf(call: ServedCall, response: string): CallAnswer {
  return {
    success: true,
    response,
    model: call.model,
    provider: call.vendor,
    usage: usageOf(call.usage),
    cost: call.cost,
    latency_ms: call.latencyMs,
    ...(call.routing === undefined ? {} : { routing: call.routing }),
    ...(call.cached ? { cached: true } : {}),
  };
}

export const directStream: StreamForm = {
  write: chunksOf,
  end: ({ usage }) => frame({ chunk: '', done: true, usage: usageOf(usage) }),
  failure: ({ code, message }: PlatformError) => frame({ error: code, message, done: true }),
};

/** Events that arrived together leave in one write. */
function chunksOf(events: readonly LlmEvent[]): string {
  let text = '';
  for (const event of events) {
    if (event.type === 'content' && event.text !== '') {
      text += `data: {"chunk":${JSON.stringify(event.text)},"done":false}\n\n`;
    }
  }
  return text;
}

function frame(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}
