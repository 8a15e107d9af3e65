import type { IncomingMessage } from 'node:http';
import type { ChatCompletion, ChatCompletionChunk } from 'openai/resources/chat/completions';
import {
  answerTokens,
  bearer,
  isEmbedding,
  promptTokens,
  sse,
  VendorServer,
  type Frames,
  type Script,
  type SeenRequest,
} from './vendor-server.js';

type Delta = ChatCompletionChunk.Choice.Delta & { reasoning_content?: string };

/** Chat completions as OpenAI, xAI, OpenRouter and their imitators serve them, each with its own habits. */
export class OpenAiServer extends VendorServer {
  readonly #flavour: 'openai' | 'xai' | 'openrouter';

  constructor(flavour: 'openai' | 'xai' | 'openrouter' = 'openai') {
    super();
    this.#flavour = flavour;
  }

  get baseUrl(): string {
    return `${this.origin}/v1`;
  }

  keyOf(request: IncomingMessage): string | undefined {
    return bearer(request);
  }

  isStream(seen: SeenRequest): boolean {
    return seen.body['stream'] === true;
  }

  errorBody(status: number, message: string): unknown {
    const type = status === 401 ? 'invalid_request_error' : 'server_error';
    const code = status === 401 ? 'invalid_api_key' : null;
    return { error: { message, type, param: null, code } };
  }

  frames(script: Script, seen: SeenRequest): Frames {
    const chunk = (delta: Delta, finish: ChatCompletionChunk.Choice['finish_reason'] = null): string =>
      sse({
        ...this.#head(seen),
        object: 'chat.completion.chunk',
        choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
      } satisfies ChatCompletionChunk);
    const usage = sse({
      ...this.#head(seen),
      object: 'chat.completion.chunk',
      choices: [],
      usage: this.#usage(script, seen),
    } satisfies ChatCompletionChunk);
    const asked = this.#flavour === 'openrouter' || seen.body['stream_options'] !== undefined;
    return {
      start: [
        ...(this.#flavour === 'openrouter' ? [': OPENROUTER PROCESSING\n\n'] : []),
        chunk({ role: 'assistant', content: '' }),
      ],
      pieces: [
        ...(script.thinking ?? []).map((text) => chunk({ reasoning_content: text })),
        ...(script.pieces ?? []).map((content) => chunk({ content })),
        ...interleavedCalls(script).map((call) => chunk({ tool_calls: [call] })),
      ],
      end: [chunk({}, finishOf(script)), ...(asked ? [usage] : [])],
      terminator: sse('[DONE]'),
      error: sse({
        error: { message: 'the server had an error', type: 'server_error', param: null, code: null },
      }),
      ping: ': keep-alive\n\n',
    };
  }

  whole(script: Script, seen: SeenRequest): unknown {
    if (isEmbedding(seen)) return this.#vectors(script, seen);
    const calls = (script.toolCalls ?? []).map((call) => ({
      id: call.id,
      type: 'function' as const,
      function: { name: call.name, arguments: call.args.join('') },
    }));
    return {
      ...this.#head(seen),
      object: 'chat.completion',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: (script.pieces ?? []).join(''),
            refusal: null,
            ...(calls.length > 0 && { tool_calls: calls }),
          },
          logprobs: null,
          finish_reason: finishOf(script),
        },
      ],
      usage: this.#usage(script, seen),
    } satisfies ChatCompletion;
  }

  /** Each vector begins with its number, so that a test sees the order; they leave in the opposite order. */
  #vectors(script: Script, seen: SeenRequest): unknown {
    const input = seen.body['input'];
    const count =
      typeof input === 'string' || typeof (input as unknown[])[0] === 'number'
        ? 1
        : (input as unknown[]).length;
    const length = Number(seen.body['dimensions'] ?? 4);
    const data = Array.from({ length: count - (script.missingVectors ?? 0) }, (_, index) => {
      const numbers = Array.from({ length }, (_each, at) => (at === 0 ? index : 0.25));
      const packed = Buffer.from(Float32Array.from(numbers).buffer).toString('base64');
      const embedding = seen.body['encoding_format'] === 'base64' ? packed : numbers;
      return { object: 'embedding', index, embedding };
    }).toReversed();
    const prompt = promptTokens(seen);
    const cost = this.#flavour === 'openrouter' ? { cost: 0.00042 } : {};
    return {
      object: 'list',
      data,
      model: String(seen.body['model']),
      usage: { prompt_tokens: prompt, total_tokens: prompt, ...cost },
    };
  }

  #head(seen: SeenRequest): { id: string; created: number; model: string } {
    return { id: 'chatcmpl-test', created: 1_790_000_000, model: String(seen.body['model']) };
  }

  #usage(script: Script, seen: SeenRequest): ChatCompletion['usage'] & {} {
    const prompt = promptTokens(seen);
    const written = answerTokens(script);
    const reasoning = script.thinking?.length ?? 0;
    return {
      prompt_tokens: prompt,
      // xAI excludes reasoning from the completion tokens and includes it in the total.
      completion_tokens: this.#flavour === 'xai' ? written - reasoning : written,
      total_tokens: prompt + written,
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: reasoning },
      ...(this.#flavour === 'openrouter' && { cost: 0.00042 }),
    };
  }
}

function finishOf(script: Script): 'tool_calls' | 'stop' {
  return (script.toolCalls?.length ?? 0) > 0 ? 'tool_calls' : 'stop';
}

/** Parallel calls as this vendor sends them: fragments in turns, id and name only in the first of each. */
function interleavedCalls(script: Script): ChatCompletionChunk.Choice.Delta.ToolCall[] {
  const calls = script.toolCalls ?? [];
  const rounds = Math.max(0, ...calls.map((call) => call.args.length));
  const fragments: ChatCompletionChunk.Choice.Delta.ToolCall[] = [];
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, call] of calls.entries()) {
      const piece = call.args[round];
      if (piece === undefined) continue;
      fragments.push(
        round === 0
          ? { index, id: call.id, type: 'function', function: { name: call.name, arguments: piece } }
          : { index, function: { arguments: piece } },
      );
    }
  }
  return fragments;
}
