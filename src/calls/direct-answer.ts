/** The answers of direct calls: in one piece, or as they come. */
import { PlatformError } from '../errors.js';
import type { LlmEvent } from '../llm/index.js';
import { eventStream, JsonReply, type RawReply, type StreamReply, unexpected } from '../operations/index.js';
import type { RunningCall, ServedCall } from './model-calls.js';
import { payerHeaders, toNobody } from './replies.js';
import { type CallAnswer, usageOf } from './shapes.js';

export async function wholeAnswer({ events }: RunningCall): Promise<JsonReply<CallAnswer> | RawReply> {
  let response = '';
  for (;;) {
    const step = await events.next();
    if (step.done !== true) {
      for (const event of step.value) if (event.type === 'content') response += event.text;
      continue;
    }
    const call = step.value;
    if (call === undefined) return toNobody;
    return new JsonReply(answerOf(call, response), 200, payerHeaders(call.payer));
  }
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

/**
 * Begins only with the first piece: a call that fails before it is refused with a status of its own. Afterwards the
 * last event tells how it went.
 */
export async function streamedAnswer(
  call: RunningCall,
  failed: (error: unknown) => void,
): Promise<StreamReply | RawReply> {
  const first = await call.events.next();
  if (first.done === true) return toNobody;
  return eventStream(async (writer) => {
    try {
      let step: typeof first | Awaited<ReturnType<typeof call.events.next>> = first;
      for (; step.done !== true; step = await call.events.next()) {
        const text = chunksOf(step.value);
        if (text !== '' && !writer.write(text)) await writer.drained();
      }
      if (step.value !== undefined) {
        writer.write(frame({ chunk: '', done: true, usage: usageOf(step.value.usage) }));
      }
    } catch (error) {
      if (!(error instanceof PlatformError)) failed(error);
      const { code, message } = error instanceof PlatformError ? error : unexpected(error);
      writer.write(frame({ error: code, message, done: true }));
    }
  }, payerHeaders(call.target?.credential.payer));
}

/** What came together goes together. */
function chunksOf(events: readonly LlmEvent[]): string {
  let text = '';
  for (const event of events) {
    if (event.type === 'content' && event.text !== '') text += frame({ chunk: event.text, done: false });
  }
  return text;
}

function frame(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}
