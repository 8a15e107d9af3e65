import * as uWS from 'uWebSockets.js';

/** What one answer is made of: fifty chunks when streamed. */
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

const stream = [
  chunk({ role: 'assistant', content: '' }),
  ...Array.from({ length: chunksPerStream }, (_, index) => chunk({ content: ` word${index}` })),
  chunk({}, 'stop'),
  `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [], usage })}\n\n`,
  'data: [DONE]\n\n',
].join('');

/** A vendor that answers at once: whatever time a call takes, it was spent on the way. Gives its port. */
export function startVendor(): Promise<number> {
  return new Promise((resolve, reject) => {
    uWS
      .App()
      .post('/v1/chat/completions', (response) => {
        let streamed = false;
        response.onAborted(() => undefined);
        response.onData((bytes, last) => {
          if (Buffer.from(bytes).includes('"stream":true')) streamed = true;
          if (!last) return;
          response.cork(() => {
            response
              .writeHeader('content-type', streamed ? 'text/event-stream' : 'application/json')
              .end(streamed ? stream : whole);
          });
        });
      })
      .listen('127.0.0.1', 0, (socket) => {
        if (socket === false) reject(new Error('no port'));
        else resolve(uWS.us_socket_local_port(socket));
      });
  });
}
