// The smallest server around the compat endpoints: parses, calls, writes. The platform's edge does the same and more.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { envelope } from '../../../../src/http/operations/index.js';
import { PlatformError } from '../../../../src/kernel/errors.js';
import {
  AnswerBuilder,
  runCall,
  zeroUsage,
  type CallPorts,
  type LlmRequest,
  type Target,
} from '../../../../src/llm/index.js';
import {
  ChatFrames,
  fromChatRequest,
  fromMessagesRequest,
  MessagesFrames,
  toChatReply,
  toMessagesReply,
} from '../../../../src/models/compat/index.js';
import { platformFailure } from '../../../../src/models/calls/platform-failure.js';

export interface CompatServer {
  readonly origin: string;
  readonly seen: LlmRequest[];
  stop(): Promise<void>;
}

interface Frames {
  write(events: Parameters<ChatFrames['write']>[0]): string;
  end(): string;
}

/** Serves every request at both endpoints from one target. */
export async function compatServer(target: Target, ports: CallPorts): Promise<CompatServer> {
  const seen: LlmRequest[] = [];
  const origin = {
    vendor: target.model.vendor,
    model: target.model.id,
    credentialId: target.credential.id,
  };
  const head = { id: 'answer-1', createdSeconds: 1_790_000_000, model: target.model.id };

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chat = request.url === '/v1/chat/completions';
    try {
      const body = await bodyOf(request);
      const given = chat ? fromChatRequest(body) : fromMessagesRequest(body);
      seen.push(given.request);
      const wantsUsage = 'wantsUsage' in given && given.wantsUsage === true;
      const frames: Frames = chat ? new ChatFrames(head, wantsUsage) : new MessagesFrames(head, origin);
      const builder = new AnswerBuilder();
      const plan = { targets: [target], mayEnlarge: false };
      const call = { plan, request: given.request, signal: new AbortController().signal };
      const { error } = await runCall(call, ports, (events) => {
        if (given.request.stream) {
          if (!response.headersSent) response.setHeader('content-type', 'text/event-stream');
          response.write(frames.write(events));
        }
        for (const event of events) builder.add(event);
      });
      if (error !== undefined) throw platformFailure(error);
      if (given.request.stream) response.end(frames.end());
      else {
        const answer = builder.build(origin);
        const usage = answer.usage ?? zeroUsage;
        response.setHeader('content-type', 'application/json');
        response.end(
          JSON.stringify(chat ? toChatReply(answer, usage, head) : toMessagesReply(answer, usage, head)),
        );
      }
    } catch (error) {
      const failure =
        error instanceof PlatformError ? error : new PlatformError('internal_error', { cause: error });
      const text = JSON.stringify(envelope(failure, chat ? 'openai' : 'anthropic'));
      if (response.headersSent) {
        response.end(chat ? `data: ${text}\n\n` : `event: error\ndata: ${text}\n\n`);
        return;
      }
      response.writeHead(failure.status, { 'content-type': 'application/json', 'x-should-retry': 'false' });
      response.end(text);
    }
  }

  const server = createServer((request, response) => void serve(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    seen,
    stop: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown;
}
