import test from 'ava';
import { z } from 'zod';
import { anyone, declare } from '../../../../src/http/operations/index.js';
import { startEdge } from '../../../support/servers/edge.js';

const thing = declare({
  name: 'thing.get',
  method: 'GET',
  path: '/thing',
  title: 'Thing',
  access: anyone(),
  output: z.object({ ok: z.boolean() }),
  handle: () => ({ ok: true }),
});

test('only listed origins get cross-origin headers and a preflight answer', async (t) => {
  const edge = await startEdge([thing], { corsOrigins: ['https://app.example'] });
  t.teardown(edge.close);
  const preflight = (origin: string) =>
    fetch(`${edge.url}/thing`, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'GET' },
    });
  const listed = await preflight('https://app.example');
  t.is(listed.status, 204);
  t.is(listed.headers.get('access-control-allow-origin'), 'https://app.example');
  t.is(listed.headers.get('x-ratelimit-limit'), '120', 'every answer carries figures');
  const other = await preflight('https://evil.example');
  t.is(other.status, 405);
  t.is(other.headers.get('access-control-allow-origin'), null);
});

test('a page of a listed origin may read what the headers of an answer say', async (t) => {
  const edge = await startEdge([thing], { corsOrigins: ['https://app.example'] });
  t.teardown(edge.close);
  const exposedTo = async (origin: string) => {
    const answer = await fetch(`${edge.url}/thing`, { headers: { origin } });
    return answer.headers.get('access-control-expose-headers')?.split(', ');
  };
  const exposed = await exposedTo('https://app.example');
  for (const name of [
    'request-id',
    'x-request-id',
    'x-execution-id',
    'x-troupe-ignored',
    'x-troupe-paid-by',
    'retry-after',
    'www-authenticate',
    'mcp-session-id',
  ]) {
    t.true(exposed?.includes(name), name);
  }
  t.is(await exposedTo('https://evil.example'), undefined);
});
