import type { IncomingMessage } from 'node:http';
import {
  answerTokens,
  isEmbedding,
  promptTokens,
  sse,
  VendorServer,
  type Frames,
  type Script,
  type SeenRequest,
} from './vendor-server.js';

const statusNames: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
};

/** generateContent and streamGenerateContent of the Gemini API. */
export class GeminiServer extends VendorServer {
  get baseUrl(): string {
    return this.origin;
  }

  keyOf(request: IncomingMessage): string | undefined {
    const key = request.headers['x-goog-api-key'];
    return typeof key === 'string' ? key : undefined;
  }

  isStream(seen: SeenRequest): boolean {
    return seen.path.includes(':streamGenerateContent');
  }

  errorBody(status: number, message: string): unknown {
    return { error: { code: status, message, status: statusNames[status] ?? 'UNKNOWN' } };
  }

  frames(script: Script, seen: SeenRequest): Frames {
    let written = 0;
    const chunk = (part: unknown): string => {
      written += 1;
      return sse(this.#reply([part], seen, this.#usage(script, seen, written)));
    };
    const pieces = this.#parts(script).map(chunk);
    const last = {
      candidates: [{ content: { role: 'model', parts: [{ text: '' }] }, finishReason: 'STOP', index: 0 }],
      usageMetadata: this.#usage(script, seen, answerTokens(script)),
      modelVersion: 'gemini-test',
      responseId: 'resp_test',
    };
    return {
      start: [],
      pieces,
      end: [],
      // The reason to stop is the only end there is.
      terminator: sse(last),
      error: sse({ error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } }),
      ping: '\n',
    };
  }

  whole(script: Script, seen: SeenRequest): unknown {
    if (isEmbedding(seen)) {
      const requests = seen.body['requests'] as { outputDimensionality?: number }[];
      const embeddings = requests.map(({ outputDimensionality: length = 4 }, index) => ({
        values: Array.from({ length }, (_, at) => (at === 0 ? index : 0.25)),
      }));
      return { embeddings: embeddings.slice(0, embeddings.length - (script.missingVectors ?? 0)) };
    }
    const parts = [
      ...(script.thinking === undefined ? [] : [{ text: script.thinking.join(''), thought: true }]),
      ...(script.pieces === undefined ? [] : [{ text: script.pieces.join('') }]),
      ...this.#calls(script),
    ];
    const reply = this.#reply(parts, seen, this.#usage(script, seen, answerTokens(script)));
    const [candidate] = reply.candidates;
    return { ...reply, candidates: [{ ...candidate, finishReason: 'STOP' }] };
  }

  #parts(script: Script): unknown[] {
    return [
      ...(script.thinking ?? []).map((text) => ({ text, thought: true })),
      ...(script.pieces ?? []).map((text) => ({ text })),
      ...this.#calls(script),
    ];
  }

  /** Whole objects, without ids; only the first of parallel calls is signed. */
  #calls(script: Script): unknown[] {
    return (script.toolCalls ?? []).map((call, index) => ({
      functionCall: { name: call.name, args: JSON.parse(call.args.join('') || '{}') as unknown },
      ...(index === 0 && { thoughtSignature: 'c2lnbmF0dXJl' }),
    }));
  }

  #reply(parts: readonly unknown[], seen: SeenRequest, usageMetadata: unknown) {
    return {
      candidates: [{ content: { role: 'model', parts }, index: 0 }],
      usageMetadata,
      modelVersion: seen.path.replace(/^.*models\/([^:]*):.*$/, '$1'),
      responseId: 'resp_test',
    };
  }

  /** Cumulative; thoughts are counted apart from candidates. */
  #usage(script: Script, seen: SeenRequest, written: number): Record<string, number> {
    const prompt = promptTokens(seen);
    const thoughts = Math.min(written, script.thinking?.length ?? 0);
    const candidates = written - thoughts;
    return {
      promptTokenCount: prompt,
      candidatesTokenCount: candidates,
      thoughtsTokenCount: thoughts,
      totalTokenCount: prompt + candidates + thoughts,
    };
  }
}
