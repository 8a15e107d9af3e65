/**
 * Marks the parts of a prompt that later calls repeat, for vendors that keep only what is marked: the tools, the system
 * prompt, and a conversation that goes on. A mark covers everything before it.
 */
import type { CacheMark, LlmRequest, Message, SystemMessage, ToolDefinition } from './contract.js';
import type { CatalogueModel } from './catalogue/model.js';

/** A longer time costs twice the input; answers of one conversation follow within minutes. */
const mark: CacheMark = { ttl: '5m' };

export function takesMarks({ family, name, capabilities }: CatalogueModel): boolean {
  const made =
    family === 'anthropic' ||
    family === 'bedrock' ||
    (family === 'openrouter' && name.startsWith('anthropic/'));
  return made && capabilities.has('prompt_caching');
}

/** The request with marks if its caller asked for them (`cachePrompt`) and the vendor takes them. */
export function markedForCache(request: LlmRequest, model: CatalogueModel): LlmRequest {
  if (request.cachePrompt !== true || !takesMarks(model)) return request;
  const { tools = [] } = request;
  return {
    ...request,
    messages: markedMessages(request.messages, tools.length > 0),
    ...(tools.length > 0 && { tools: markedLast(tools) }),
  };
}

function markedLast(tools: readonly ToolDefinition[]): readonly ToolDefinition[] {
  return tools.map((tool, at) => (at === tools.length - 1 ? { ...tool, cache: mark } : tool));
}

/** A single question without tools is not repeated: its writing would cost more than it saves. */
function markedMessages(messages: readonly Message[], hasTools: boolean): readonly Message[] {
  const system = messages.findLastIndex(({ role }) => role === 'system');
  const goesOn = hasTools || messages.some(({ role }) => role === 'assistant');
  const last = goesOn ? messages.length - 1 : -1;
  return messages.map((message, at) => {
    if (message.role === 'system')
      return at === system ? ({ ...message, cache: mark } satisfies SystemMessage) : message;
    return at === last ? markedAtEnd(message) : message;
  });
}

function markedAtEnd(message: Exclude<Message, SystemMessage>): Message {
  switch (message.role) {
    case 'tool':
      return { ...message, cache: mark };
    case 'user': {
      const at = message.content.findLastIndex((part) => part.type !== 'context');
      return {
        ...message,
        content: message.content.map((part, index) => (index === at ? marked(part) : part)),
      };
    }
    case 'assistant':
      return message;
  }
}

function marked<Part extends { readonly type: string }>(part: Part): Part {
  return part.type === 'text' || part.type === 'image' ? { ...part, cache: mark } : part;
}
