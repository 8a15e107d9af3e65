import type { LlmRequest } from '../../llm/index.js';

/**
 * Refuses addresses of images and files that the platform itself would not fetch. The vendor fetches them, but a
 * vendor may be a server of the operator, in a network that the caller cannot reach.
 */
export function checkAddresses(
  { messages }: Pick<LlmRequest, 'messages'>,
  checkUrl: (url: string, field: string) => unknown,
): void {
  for (const message of messages) {
    if (message.role !== 'user' && message.role !== 'tool') continue;
    for (const part of message.content) {
      if (part.type !== 'image' && part.type !== 'file') continue;
      if (part.source.kind === 'url') checkUrl(part.source.url, part.field ?? 'messages');
    }
  }
}
