import type { AssistantMessage, Message, ToolCallPart, ToolMessage, UserMessage } from '../../contract.js';

/**
 * The conversation with what tools said as texts of the user. Converse refuses calls and results in a request that
 * declares no tools, and with tools it has no choice that keeps a model from calling them. Calls are told beside their
 * results: a model that reads them as its own words writes more of them as text.
 */
export function withoutToolBlocks(messages: readonly Message[]): readonly Message[] {
  const calls = new Map<string, ToolCallPart>();
  return messages.flatMap((message): readonly Message[] => {
    if (message.role === 'tool') return [told(message, calls.get(message.callId))];
    if (message.role !== 'assistant') return [message];
    const own = message.content.filter((part) => part.type === 'tool_call');
    for (const call of own) calls.set(call.id, call);
    return own.length === 0 ? [message] : withTextsOf(message);
  });
}

/** Signed thoughts belong to the calls after them, and may not end a message. */
function withTextsOf(message: AssistantMessage): readonly AssistantMessage[] {
  const content = message.content.filter(({ type }) => type === 'text');
  return content.length === 0 ? [] : [{ ...message, content }];
}

function told(result: ToolMessage, call: ToolCallPart | undefined): UserMessage {
  const written = call === undefined || call.arguments === '' ? '{}' : call.arguments;
  const verb = result.isError === true ? 'failed' : 'answered';
  const text = `The tool ${result.name}, called with ${written}, ${verb}:`;
  const last = result.content.length - 1;
  return {
    role: 'user',
    content: [
      { type: 'text', text },
      ...result.content.map((part, at) =>
        at === last && result.cache !== undefined ? { ...part, cache: result.cache } : part,
      ),
    ],
  };
}
