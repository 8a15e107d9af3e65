/**
 * Reasoning signatures in a conversation. A signed thought may return only to the vendor, model and credential that made
 * it; other targets answer 400 at best, so it is left out for them.
 */
import type { AssistantPart, Message, Origin } from './contract.js';

/** The conversation in the form that `target` may receive. */
export function historyFor(messages: readonly Message[], target: Origin): readonly Message[] {
  return messages.map((message) => {
    if (message.role !== 'assistant' || !message.content.some(isSigned)) return message;
    return { ...message, content: message.content.flatMap((part) => partFor(part, target)) };
  });
}

/** The required target of the next call: only the maker of a signed thought can continue it with tool results. */
export function pinOf(messages: readonly Message[]): Origin | undefined {
  const last = messages.findLastIndex((message) => message.role !== 'tool');
  const message = messages[last];
  if (message?.role !== 'assistant' || last === messages.length - 1) return undefined;
  return message.content.find(isSigned)?.origin;
}

function isSigned(part: AssistantPart): boolean {
  return part.type === 'thinking' || part.type === 'redacted_thinking' || part.signature !== undefined;
}

function partFor(part: AssistantPart, target: Origin): AssistantPart[] {
  if (!isSigned(part) || sameOrigin(part.origin, target)) return [part];
  switch (part.type) {
    case 'thinking':
    case 'redacted_thinking':
      return [];
    case 'text':
      return part.text === '' ? [] : [{ type: 'text', text: part.text }];
    case 'tool_call':
      return [{ type: 'tool_call', id: part.id, name: part.name, arguments: part.arguments }];
  }
}

function sameOrigin(origin: Origin | undefined, target: Origin): boolean {
  return (
    origin !== undefined &&
    origin.vendor === target.vendor &&
    origin.model === target.model &&
    origin.credentialId === target.credentialId
  );
}
