import * as uWS from 'uWebSockets.js';

/** The number of chunks in a streamed answer. */
export const chunksPerStream = 50;

const head = { id: 'chatcmpl-bench', created: 1_790_000_000, model: 'gpt-4.1-mini' };
const usage = { prompt_tokens: 20, completion_tokens: 50, total_tokens: 70 };

const whole = JSON.stringify({
  ...head,
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: 'An answer of quite ordinary length, for a start.',
        refusal: null,
      },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage,
});

function chunk(delta: object, finish_reason: string | null = null): string {
  const choices = [{ index: 0, delta, logprobs: null, finish_reason }];
  return `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices, usage: null })}\n\n`;
}

const opening = chunk({ role: 'assistant', content: '' });
const closing = [
  chunk({}, 'stop'),
  `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [], usage })}\n\n`,
  'data: [DONE]\n\n',
].join('');
const stream = [
  opening,
  ...Array.from({ length: chunksPerStream }, (_, index) => chunk({ content: ` word${index}` })),
  closing,
].join('');

interface Paced {
  readonly response: uWS.HttpResponse;
  left: number;
}

export interface Vendor {
  readonly port: number;
  /** Sets the number and interval of chunks in streamed answers; undefined sends them at once. */
  pace(pace: { readonly chunks: number; readonly everyMs: number } | undefined): void;
  /** Chunks written to paced streams so far. */
  readonly written: number;
}

/**
 * A vendor that answers at once, so that all measured time is spent on the way. Each chunk of a paced stream carries
 * the time of its write; all streams get their next chunk in the same tick.
 */
export async function startVendor(): Promise<Vendor> {
  const running = new Set<Paced>();
  let chunks = 0;
  let written = 0;
  let timer: NodeJS.Timeout | undefined;

  const tick = (): void => {
    const text = chunk({ content: ` ${performance.now().toFixed(3)};` });
    for (const paced of running) {
      paced.left -= 1;
      written += 1;
      if (paced.left > 0) paced.response.cork(() => void paced.response.write(text));
      else {
        running.delete(paced);
        paced.response.cork(() => void paced.response.end(text + closing));
      }
    }
  };
  const answer = (response: uWS.HttpResponse, streamed: boolean): void => {
    const type = streamed ? 'text/event-stream' : 'application/json';
    response.cork(() => {
      response.writeHeader('content-type', type);
      if (!streamed) response.end(whole);
      else if (chunks === 0) response.end(stream);
      else response.write(opening);
    });
    if (!streamed || chunks === 0) return;
    const paced = { response, left: chunks };
    running.add(paced);
    response.onAborted(() => running.delete(paced));
  };
  const port = await new Promise<number>((resolve, reject) => {
    uWS
      .App()
      .post('/v1/chat/completions', (response) => {
        let streamed = false;
        response.onAborted(() => undefined);
        response.onData((bytes, last) => {
          if (Buffer.from(bytes).includes('"stream":true')) streamed = true;
          if (last) answer(response, streamed);
        });
      })
      .listen('127.0.0.1', 0, (socket) => {
        if (socket === false) reject(new Error('cannot listen on 127.0.0.1'));
        else resolve(uWS.us_socket_local_port(socket));
      });
  });
  return {
    port,
    pace(pace) {
      clearInterval(timer);
      chunks = pace?.chunks ?? 0;
      if (pace !== undefined) timer = setInterval(tick, pace.everyMs);
    },
    get written() {
      return written;
    },
  };
}
