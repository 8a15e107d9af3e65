import type { Message } from '../contract.js';

/** The user's own text: the declared context that travels with it is not repeated. */
export function lastUserText(messages: readonly Message[]): string {
  const last = messages.findLast((message) => message.role === 'user');
  return last?.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n') ?? '';
}
