import type { ChatCompletionChunk } from 'openai/resources/chat/completions';
import { chatFinishReason, chunkUsage, type ReplyHead } from './to-reply.js';
import { type LlmEvent, type Usage, zeroUsage } from '../../../llm/index.js';

type Extra = Extract<LlmEvent, { type: 'chat_extra' }>;
type Delta = ChatCompletionChunk.Choice.Delta & { reasoning_content?: string };

/**
 * Writes an answer as a stream of chunks. A list of events becomes one text that leaves in one write. The part that all
 * chunks share is built once.
 */
export class ChatFrames {
  readonly #head: string;
  readonly #wantsUsage: boolean;
  readonly #beforeText: string;
  readonly #afterText: string;
  #begun = false;
  /** The answer is a refusal in OpenAI's field for it, which its clients expect with the finish reason `stop`. */
  #refused = false;
  #usage: Usage = zeroUsage;
  /** Leaves with the next chunk. */
  #extra: Extra | undefined;

  constructor(head: ReplyHead, wantsUsage: boolean) {
    const common = {
      id: head.id,
      object: 'chat.completion.chunk',
      created: head.createdSeconds,
      model: head.model,
    } satisfies Partial<ChatCompletionChunk>;
    this.#head = `data: ${JSON.stringify(common).slice(0, -1)},`;
    this.#wantsUsage = wantsUsage;
    this.#beforeText = `${this.#head}"choices":[{"index":0,"delta":{"content":`;
    this.#afterText = `},"logprobs":null,"finish_reason":null}]${wantsUsage ? ',"usage":null' : ''}}\n\n`;
  }

  write(events: readonly LlmEvent[]): string {
    let text = '';
    for (const event of events) text += this.#frame(event);
    return text;
  }

  /** Called after the closing events. Clients read the usage from the last chunk, after the one with the finish reason. */
  end(): string {
    return `${this.#wantsUsage ? this.#usageChunk() : ''}data: [DONE]\n\n`;
  }

  #frame(event: LlmEvent): string {
    switch (event.type) {
      case 'content':
        if (event.refusal === true) {
          this.#refused = true;
          return this.#delta({ refusal: event.text });
        }
        if (this.#begun && this.#extra === undefined)
          return this.#beforeText + JSON.stringify(event.text) + this.#afterText;
        return this.#delta({ content: event.text });
      case 'thinking':
        return this.#delta({ reasoning_content: event.text });
      case 'tool_call_start': {
        const { index, id, name } = event;
        return this.#delta({
          tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }],
        });
      }
      case 'tool_call_arguments': {
        const { index, text } = event;
        return this.#delta({ tool_calls: [{ index, function: { arguments: text } }] });
      }
      case 'chat_extra': {
        const earlier = this.#extra === undefined ? '' : this.#delta({});
        this.#extra = event;
        return earlier;
      }
      case 'usage':
        this.#usage = event.usage;
        return '';
      case 'stop':
        return this.#chunk(
          {},
          this.#refused && event.reason === 'refusal' ? 'stop' : chatFinishReason(event.reason),
        );
      default:
        return '';
    }
  }

  #delta(delta: Delta): string {
    return this.#chunk(delta, null);
  }

  #chunk(delta: Delta, finish_reason: ChatCompletionChunk.Choice['finish_reason']): string {
    // Only the first chunk names the role.
    const role = this.#begun ? undefined : { role: 'assistant' as const };
    this.#begun = true;
    const extra = this.#extra;
    this.#extra = undefined;
    const choice = {
      index: 0,
      delta: { ...role, ...delta, ...extra?.delta },
      logprobs: null,
      finish_reason,
      ...extra?.choice,
    };
    const usage = this.#wantsUsage ? ',"usage":null' : '';
    const root = extra === undefined ? '' : Object.entries(extra.root).map(field).join('');
    return `${this.#head}"choices":[${JSON.stringify(choice satisfies ChatCompletionChunk.Choice)}]${root}${usage}}\n\n`;
  }

  #usageChunk(): string {
    return `${this.#head}"choices":[],"usage":${JSON.stringify(chunkUsage(this.#usage))}}\n\n`;
  }
}

function field([key, value]: readonly [string, unknown]): string {
  return `,${JSON.stringify(key)}:${JSON.stringify(value)}`;
}
