import type { IncomingMessage } from 'node:http';
import {
  answerTokens,
  promptTokens,
  sse,
  VendorServer,
  type Frames,
  type Script,
  type SeenRequest,
} from './vendor-server.js';

const errorTypes: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
  500: 'api_error',
  529: 'overloaded_error',
};

/** The Messages API. */
export class AnthropicServer extends VendorServer {
  get baseUrl(): string {
    return this.origin;
  }

  keyOf(request: IncomingMessage): string | undefined {
    const key = request.headers['x-api-key'];
    return typeof key === 'string' ? key : undefined;
  }

  override billedAtStart(seen: SeenRequest): SeenRequest['billed'] {
    return { input: promptTokens(seen), output: 1 };
  }

  isStream(seen: SeenRequest): boolean {
    return seen.body['stream'] === true;
  }

  errorBody(status: number, message: string): unknown {
    const type = errorTypes[status] ?? 'api_error';
    return { type: 'error', error: { type, message }, request_id: 'req_test' };
  }

  frames(script: Script, seen: SeenRequest): Frames {
    const event = (data: { type: string } & Record<string, unknown>): string => sse(data, data.type);
    const pieces: string[] = [];
    let index = 0;
    const block = (opening: unknown, deltas: readonly unknown[], closing: readonly unknown[] = []): void => {
      const at = index++;
      for (const [nth, delta] of deltas.entries()) {
        const first = nth === 0;
        const last = nth === deltas.length - 1;
        pieces.push(
          [
            ...(first ? [event({ type: 'content_block_start', index: at, content_block: opening })] : []),
            event({ type: 'content_block_delta', index: at, delta }),
            ...(last
              ? closing.map((more) => event({ type: 'content_block_delta', index: at, delta: more }))
              : []),
            ...(last ? [event({ type: 'content_block_stop', index: at })] : []),
          ].join(''),
        );
      }
    };
    block(
      { type: 'thinking', thinking: '', signature: '' },
      (script.thinking ?? []).map((thinking) => ({ type: 'thinking_delta', thinking })),
      [{ type: 'signature_delta', signature: 'sig-of-thought' }],
    );
    block(
      { type: 'text', text: '' },
      (script.pieces ?? []).map((text) => ({ type: 'text_delta', text })),
    );
    for (const call of script.toolCalls ?? []) {
      block(
        { type: 'tool_use', id: call.id, name: call.name, input: {} },
        call.args.map((partial_json) => ({ type: 'input_json_delta', partial_json })),
      );
    }
    return {
      start: [
        event({ type: 'message_start', message: { ...this.#message(script, seen, 1), content: [] } }),
        event({ type: 'ping' }),
      ],
      pieces,
      end: [
        event({
          type: 'message_delta',
          delta: { stop_reason: stopOf(script), stop_sequence: null },
          usage: { output_tokens: answerTokens(script) },
        }),
      ],
      terminator: event({ type: 'message_stop' }),
      error: event({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
      ping: event({ type: 'ping' }),
    };
  }

  whole(script: Script, seen: SeenRequest): unknown {
    return { ...this.#message(script, seen, answerTokens(script)), stop_reason: stopOf(script) };
  }

  #message(script: Script, seen: SeenRequest, outputTokens: number): Record<string, unknown> {
    const text = (script.pieces ?? []).join('');
    const thinking = (script.thinking ?? []).join('');
    return {
      id: 'msg_test',
      type: 'message',
      role: 'assistant',
      model: seen.body['model'],
      content: [
        ...(thinking === '' ? [] : [{ type: 'thinking', thinking, signature: 'sig-of-thought' }]),
        ...(text === '' ? [] : [{ type: 'text', text }]),
        ...(script.toolCalls ?? []).map((call) => ({
          type: 'tool_use',
          id: call.id,
          name: call.name,
          input: JSON.parse(call.args.join('') || '{}') as unknown,
        })),
      ],
      stop_reason: null,
      stop_sequence: null,
      usage: {
        input_tokens: promptTokens(seen),
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        output_tokens: outputTokens,
      },
    };
  }
}

function stopOf(script: Script): string {
  return (script.toolCalls?.length ?? 0) > 0 ? 'tool_use' : 'end_turn';
}
