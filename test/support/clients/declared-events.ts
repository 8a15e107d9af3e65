import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';

/** Throws if the event of a stream is not as declared, or has a field that the declaration lacks. */
export function holdEvent(shape: z.ZodType, event: unknown): void {
  const read = shape.safeParse(event);
  const text = JSON.stringify(event);
  if (!read.success) throw new Error(`the event ${text} is not as declared: ${read.error.message}`);
  if (!isDeepStrictEqual(read.data, event)) {
    throw new Error(
      `the event ${text} has undeclared fields: declared are those of ${JSON.stringify(read.data)}`,
    );
  }
}

/** The data of the server-sent events in a text. The end mark of OpenAI's streams is no event. */
export function eventsIn(text: string): unknown[] {
  return [...text.matchAll(/^data: (.*)$/gm)]
    .map(([, data = '']) => data)
    .filter((data) => data !== '[DONE]')
    .map((data) => JSON.parse(data) as unknown);
}
