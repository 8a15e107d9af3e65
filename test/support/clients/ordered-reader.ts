// A reader of one turn that shows the order of writes. On this machine written data is readable at once, and the plain
// client passes it on in the same turn of the loop.
import { request } from 'node:http';

export interface OrderedFrame {
  readonly id: number;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Begins a turn; resolves when its connection ends. */
export function readInOrder(
  { url, key, agentId }: { readonly url: string; readonly key: string; readonly agentId: string },
  message: string,
  onFrame: (frame: OrderedFrame) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const asked = request(
      `${url}/api/v2/agents/${agentId}/stream`,
      { method: 'POST', headers: { 'x-api-key': key, 'content-type': 'application/json' } },
      (response) => {
        let rest = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          const frames = (rest + chunk).split('\n\n');
          rest = frames.pop() ?? '';
          for (const frame of framesOf(frames.join('\n\n'))) onFrame(frame);
        });
        response.on('end', () => {
          if (response.statusCode === 200) resolve();
          else reject(new Error(`the turn was refused: ${response.statusCode} ${rest}`));
        });
        response.on('error', reject);
      },
    );
    asked.on('error', reject);
    asked.end(JSON.stringify({ message }));
  });
}

/** The events in the text of a stream; comments are none. */
export function framesOf(text: string): OrderedFrame[] {
  return [...text.matchAll(/^id: (\d+)\nevent: (.*)\ndata: (.*)$/gm)].map(
    ([, id, type = '', data = '{}']) => ({
      id: Number(id),
      type,
      data: JSON.parse(data) as OrderedFrame['data'],
    }),
  );
}

/** Resolves when all data received so far has reached its readers. */
export function afterThisTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
