import { setTimeout as passed } from 'node:timers/promises';
import test from 'ava';
import { z } from 'zod';
import { anyone, declare } from '../../../../src/http/operations/index.js';
import { startEdge } from '../../../support/servers/edge.js';

/** The native server closes connections after ten silent seconds by its own clock. */
const longerThanIdleMs = 13_000;

test('a slow answer arrives, also if the caller was looked up while the body arrived', async (t) => {
  t.timeout(60_000);
  const slow = declare({
    name: 'slow.post',
    method: 'POST',
    path: '/slow',
    title: 'Slow',
    access: anyone(),
    body: z.object({ text: z.string() }),
    output: z.object({ length: z.int() }),
    handle: async ({ body }) => {
      await passed(longerThanIdleMs);
      return { length: body.text.length };
    },
  });
  const figures = { limit: 10, remaining: 9, reset: 1 };
  const edge = await startEdge([slow], {
    admission: {
      admitRequest: async () => {
        await passed(50);
        return { figures };
      },
      admitModelWork: () => ({ figures }),
      noteRefusedWork: () => undefined,
      figuresOfAddress: () => figures,
    },
  });
  t.teardown(edge.close);
  const post = async (length: number): Promise<unknown> => {
    const response = await fetch(`${edge.url}/slow`, {
      method: 'POST',
      body: JSON.stringify({ text: 'x'.repeat(length) }),
      headers: { 'content-type': 'application/json' },
    });
    return response.json();
  };
  // One body arrives with its head; the other in many pieces, most of which are held back.
  t.deepEqual(await Promise.all([post(5), post(900_000)]), [{ length: 5 }, { length: 900_000 }]);
});
