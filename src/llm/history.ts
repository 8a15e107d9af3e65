/**
 * What a vendor refuses of a conversation that another one took part in. A signed thought may return only to the vendor,
 * model and credential that made it; other targets answer 400 at best, so it is left out for them. Ids of calls are
 * written anew for vendors that do not take those of others.
 */
import { createHash } from 'node:crypto';
import type { AssistantPart, Message, Origin, SystemMessage, UserMessage } from './contract.js';
import type { Family } from './wire/field-table.js';

/** The conversation in the form that `target` may receive. */
export function historyFor(messages: readonly Message[], target: Origin, family: Family): readonly Message[] {
  const idOf = narrowIds.has(family) ? plainId : (id: string) => id;
  return spoken(messages, family).map((message) => {
    if (message.role === 'tool') {
      const callId = idOf(message.callId);
      return callId === message.callId ? message : { ...message, callId };
    }
    if (message.role !== 'assistant' || !message.content.some(mayChange)) return message;
    return { ...message, content: message.content.flatMap((part) => partFor(part, target).map(withPlainId)) };
  });

  function withPlainId(part: AssistantPart): AssistantPart {
    return part.type === 'tool_call' ? { ...part, id: idOf(part.id) } : part;
  }
}

/** The families whose models hold ids of calls to a pattern. Others match results by an id of any form, or by name. */
const narrowIds: ReadonlySet<Family> = new Set<Family>(['anthropic', 'bedrock']);

/** The same for a call and its result, in each request: other forms come from servers such as those of Kimi. */
function plainId(id: string): string {
  if (/^[a-zA-Z0-9_-]{1,64}$/.test(id)) return id;
  return `call_${createHash('sha256').update(id).digest('base64url').slice(0, 24)}`;
}

/** The families that take the instructions apart from the messages, and refuse a request without messages. */
const wantsMessages: ReadonlySet<Family> = new Set<Family>(['anthropic', 'bedrock', 'google']);

/** Of instructions alone, the last ones are the question. */
function spoken(messages: readonly Message[], family: Family): readonly Message[] {
  if (!wantsMessages.has(family) || messages.some(({ role }) => role !== 'system')) return messages;
  return messages.map((message, at) =>
    at === messages.length - 1 && message.role === 'system' ? asked(message) : message,
  );
}

function asked({ content, cache }: SystemMessage): UserMessage {
  return { role: 'user', content: [{ type: 'text', text: content, ...(cache !== undefined && { cache }) }] };
}

function mayChange(part: AssistantPart): boolean {
  return part.type === 'tool_call' || isSigned(part);
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
