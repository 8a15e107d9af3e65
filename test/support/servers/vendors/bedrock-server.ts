import { EventStreamCodec } from '@smithy/eventstream-codec';
import type { IncomingMessage } from 'node:http';
import { signatureFault } from './aws-signature.js';
import {
  answerTokens,
  bearer,
  promptTokens,
  type Frames,
  type Script,
  type SeenRequest,
  VendorServer,
} from './vendor-server.js';

const codec = new EventStreamCodec(
  (bytes) => (typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString('utf8')),
  (text) => Buffer.from(text, 'utf8'),
);

const errorTypes: Readonly<Record<number, string>> = {
  400: 'ValidationException',
  403: 'AccessDeniedException',
  404: 'ResourceNotFoundException',
  429: 'ThrottlingException',
  500: 'InternalServerException',
  503: 'ServiceUnavailableException',
};

/** Amazon Bedrock's Converse interface: signed requests, streams of binary messages. */
export class BedrockServer extends VendorServer {
  override readonly streamType = 'application/vnd.amazon.eventstream';
  /** Secret keys by their ids. Requests without a signature of one are refused, if there is one. */
  readonly signingKeys = new Map<string, string>();
  #fault: string | undefined;

  get baseUrl(): string {
    return this.origin;
  }

  keyOf(request: IncomingMessage): string | undefined {
    return bearer(request);
  }

  override refusalOf(seen: SeenRequest): Script | undefined {
    const refusal = this.signingKeys.size === 0 ? super.refusalOf(seen) : this.#wrongSignature(seen);
    return refusal ?? undeclaredTools(seen);
  }

  #wrongSignature(seen: SeenRequest): Script | undefined {
    this.#fault = signatureFault(seen, this.signingKeys);
    return this.#fault === undefined ? undefined : { status: 403, message: 'The signature does not match.' };
  }

  isStream(seen: SeenRequest): boolean {
    return seen.path.endsWith('/converse-stream');
  }

  errorBody(_status: number, message: string): unknown {
    return { message };
  }

  override errorHeaders(status: number): Readonly<Record<string, string>> {
    const type = this.#fault ?? errorTypes[status] ?? 'InternalServerException';
    return { 'x-amzn-errortype': `${type}:http://internal.amazon.com/coral/` };
  }

  frames(script: Script, seen: SeenRequest): Frames {
    const pieces: Uint8Array[] = [];
    let index = 0;
    const block = (deltas: readonly object[], start?: object): void => {
      const at = { contentBlockIndex: index++ };
      const opening = start === undefined ? [] : [event('contentBlockStart', { ...at, start })];
      const closing = [event('contentBlockStop', at)];
      // A piece is a token, so the events around the first and the last belong to them.
      for (const [nth, delta] of deltas.entries()) {
        pieces.push(
          Buffer.concat([
            ...(nth === 0 ? opening : []),
            event('contentBlockDelta', { ...at, delta }),
            ...(nth === deltas.length - 1 ? closing : []),
          ]),
        );
      }
    };
    if (script.thinking !== undefined) {
      const thoughts = script.thinking.map((text) => ({ reasoningContent: { text } }));
      block([...thoughts, { reasoningContent: { signature: 'sig-of-thought' } }]);
    }
    if ((script.pieces ?? []).length > 0) block((script.pieces ?? []).map((text) => ({ text })));
    for (const { id, name, args } of script.toolCalls ?? []) {
      block(
        args.map((input) => ({ toolUse: { input } })),
        { toolUse: { toolUseId: id, name } },
      );
    }
    return {
      start: [event('messageStart', { role: 'assistant' })],
      pieces,
      end: [event('messageStop', { stopReason: stopOf(script) })],
      terminator: event('metadata', { usage: usageOf(script, seen), metrics: { latencyMs: 1 } }),
      error: exception('modelStreamErrorException', { message: 'the model failed' }),
      ping: '',
    };
  }

  whole(script: Script, seen: SeenRequest): unknown {
    const thought = { text: (script.thinking ?? []).join(''), signature: 'sig-of-thought' };
    return {
      output: {
        message: {
          role: 'assistant',
          content: [
            ...(script.thinking === undefined ? [] : [{ reasoningContent: { reasoningText: thought } }]),
            ...((script.pieces ?? []).length === 0 ? [] : [{ text: (script.pieces ?? []).join('') }]),
            ...(script.toolCalls ?? []).map(({ id, name, args }) => ({
              toolUse: { toolUseId: id, name, input: JSON.parse(args.join('')) as unknown },
            })),
          ],
        },
      },
      stopReason: stopOf(script),
      usage: usageOf(script, seen),
      metrics: { latencyMs: 1 },
    };
  }
}

function undeclaredTools({ body }: SeenRequest): Script | undefined {
  const { messages, toolConfig } = body as { messages?: { content: object[] }[]; toolConfig?: object };
  const blocks = (messages ?? []).flatMap(({ content }) => content);
  if (toolConfig !== undefined || !blocks.some((block) => 'toolUse' in block || 'toolResult' in block))
    return;
  const message = 'The toolConfig field must be defined when using toolUse and toolResult content blocks.';
  return { status: 400, message };
}

function usageOf(script: Script, seen: SeenRequest) {
  const [inputTokens, outputTokens] = [promptTokens(seen), answerTokens(script)];
  const cached = {
    cacheReadInputTokens: 7,
    cacheWriteInputTokens: 3,
    cacheDetails: [{ ttl: '1h', inputTokens: 2 }],
  };
  return { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens, ...cached };
}

function stopOf(script: Script): string {
  return (script.toolCalls ?? []).length > 0 ? 'tool_use' : 'end_turn';
}

function event(type: string, body: object): Uint8Array {
  return message({ ':message-type': 'event', ':event-type': type }, body);
}

function exception(type: string, body: object): Uint8Array {
  return message({ ':message-type': 'exception', ':exception-type': type }, body);
}

function message(headers: Readonly<Record<string, string>>, body: object): Uint8Array {
  return codec.encode({
    headers: Object.fromEntries(
      Object.entries({ ...headers, ':content-type': 'application/json' }).map(([name, value]) => [
        name,
        { type: 'string', value },
      ]),
    ),
    body: Buffer.from(JSON.stringify(body)),
  });
}
