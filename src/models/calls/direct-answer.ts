/** The answers of direct calls: whole or streamed. */
import type { PlatformError } from '../../kernel/errors.js';
import { AnswerBuilder, type LlmEvent } from '../../llm/index.js';
import { JsonReply, type RawReply } from '../../http/operations/index.js';
import { parsedAnswer } from '../response-format/index.js';
import type { RunningCall, ServedCall } from './model-calls.js';
import { payerHeaders, toNobody } from './replies.js';
import { type CallAnswer, usageOf } from './shapes.js';
import type { StreamForm } from './stream-answer.js';

/** `isJson`: the answer was checked against a schema, and is given as a value too. */
export async function wholeAnswer(
  call: RunningCall,
  isJson: boolean,
): Promise<JsonReply<CallAnswer> | RawReply> {
  const builder = new AnswerBuilder();
  const served = await call.run((events) => {
    for (const event of events) builder.add(event);
  });
  if (served === undefined) return toNobody;
  return new JsonReply(answerOf(served, builder, isJson), 200, payerHeaders(served.payer));
}

function answerOf(call: ServedCall, builder: AnswerBuilder, isJson: boolean): CallAnswer {
  return {
    success: true,
    ...contentOf(call, builder, isJson),
    model: call.model,
    provider: call.vendor,
    usage: usageOf(call.usage),
    cost: call.cost,
    latency_ms: call.latencyMs,
    ...(call.routing === undefined ? {} : { routing: call.routing }),
    ...(call.cached ? { cached: true } : {}),
  };
}

function contentOf(
  { vendor, model }: ServedCall,
  builder: AnswerBuilder,
  isJson: boolean,
): Pick<CallAnswer, 'response' | 'parsed' | 'tool_calls'> {
  const { text, toolCalls } = builder.build({ vendor, model, credentialId: '' });
  return {
    response: text,
    ...(isJson && toolCalls.length === 0 && { parsed: parsedAnswer(text) }),
    ...(toolCalls.length > 0 && {
      tool_calls: toolCalls.map(({ id, name, arguments: written }) => ({
        id,
        type: 'function' as const,
        function: { name, arguments: written === '' ? '{}' : written },
      })),
    }),
  };
}

export function directStream(isJson: boolean): StreamForm {
  const builder = new AnswerBuilder();
  return {
    write: (events) => {
      for (const event of events) builder.add(event);
      return chunksOf(events);
    },
    end: (served) => {
      const { response: _, ...more } = contentOf(served, builder, isJson);
      return frame({ chunk: '', done: true, usage: usageOf(served.usage), ...more });
    },
    failure: ({ code, message }: PlatformError) => frame({ error: code, message, done: true }),
  };
}

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
