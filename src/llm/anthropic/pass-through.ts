import type { LlmRequest, WireRequest } from '../contract.js';
import { packSignature } from '../packed-signature.js';
import { isRecord } from '../reply-json.js';
import type { VendorModel } from '../vendor.js';

type Json = Readonly<Record<string, unknown>>;

/**
 * The caller's own body, field by field, with what the platform decides: the model, the largest bound of the output,
 * and which signed thoughts may return. `request.messages` holds those that this target made.
 */
export function passedMessagesBody(wire: WireRequest, request: LlmRequest, model: VendorModel): Json {
  const body: Record<string, unknown> = { ...wire.body, model: model.name };
  const bound = body['max_tokens'];
  if (typeof bound === 'number') body['max_tokens'] = Math.min(bound, model.maxOutputTokens);
  if (Array.isArray(body['messages'])) {
    const signatures = ownSignatures(request);
    body['messages'] = body['messages'].flatMap((each) => withOwnThoughts(each, signatures));
  }
  return body;
}

/** The vendor's signatures by those that callers hold (`packed-signature.ts`). */
function ownSignatures({ messages }: LlmRequest): ReadonlyMap<string, string> {
  const known = new Map<string, string>();
  for (const message of messages) {
    if (message.role !== 'assistant') continue;
    for (const part of message.content) {
      const secret =
        part.type === 'thinking' ? part.signature : part.type === 'redacted_thinking' ? part.data : undefined;
      if (secret !== undefined && part.type !== 'text' && part.origin !== undefined) {
        known.set(packSignature(secret, part.origin), secret);
      }
    }
  }
  return known;
}

function withOwnThoughts(message: unknown, known: ReadonlyMap<string, string>): unknown[] {
  if (!isRecord(message) || message['role'] !== 'assistant' || !Array.isArray(message['content'])) {
    return [message];
  }
  const content = message['content'].flatMap((block) => opened(block, known));
  // A message without content is refused.
  return content.length === 0 ? [] : [{ ...message, content }];
}

function opened(block: unknown, known: ReadonlyMap<string, string>): unknown[] {
  if (!isRecord(block)) return [block];
  const field = block['type'] === 'thinking' ? 'signature' : 'data';
  if (block['type'] !== 'thinking' && block['type'] !== 'redacted_thinking') return [block];
  const packed = block[field];
  const signature = typeof packed === 'string' ? known.get(packed) : undefined;
  return signature === undefined ? [] : [{ ...block, [field]: signature }];
}
