// Requests for model work that are refused before they count as such are noted, with the bytes that were read for them.
import test from 'ava';
import { z } from 'zod';
import { PlatformError } from '../../../../src/kernel/errors.js';
import { anyone, declare } from '../../../../src/http/operations/index.js';
import { openAdmission, startEdge } from '../../../support/servers/edge.js';

const work = declare({
  name: 'work.do',
  method: 'POST',
  path: '/work',
  title: 'Work',
  access: anyone(),
  rate: 'model-work',
  body: z.object({ text: z.string().max(100) }),
  output: z.object({}),
  handle: ({ body }) => {
    if (body.text === 'fail') throw new PlatformError('conflict');
    return {};
  },
});

async function start(t: { teardown(fn: () => unknown): void }, full = false) {
  const noted: number[] = [];
  const figures = { limit: 10, remaining: 0, reset: 1 };
  const refusal = new PlatformError('rate_limit_exceeded');
  const edge = await startEdge([work], {
    admission: {
      ...openAdmission,
      admitRequest: () => (full ? { figures, refusal } : { figures }),
      noteRefusedWork: (_, bodyBytes) => void noted.push(bodyBytes),
    },
  });
  t.teardown(edge.close);
  const post = async (body: string): Promise<number> => {
    const headers = { 'content-type': 'application/json' };
    return (await fetch(`${edge.url}/work`, { method: 'POST', body, headers })).status;
  };
  return { post, noted };
}

test('a body that is refused is noted with its size', async (t) => {
  const { post, noted } = await start(t);
  const invalid = JSON.stringify({ text: 'x'.repeat(200_000) });
  t.is(await post(invalid), 400);
  t.is(await post('{'), 400);
  t.deepEqual(noted, [invalid.length, 1]);
});

test('work that was admitted is not noted, whether it succeeds or fails', async (t) => {
  const { post, noted } = await start(t);
  t.is(await post(JSON.stringify({ text: 'hello' })), 200);
  t.is(await post(JSON.stringify({ text: 'fail' })), 409);
  t.deepEqual(noted, []);
});

test('what a full window refuses is not noted again', async (t) => {
  const { post, noted } = await start(t, true);
  t.is(await post('{'), 429);
  t.deepEqual(noted, []);
});
