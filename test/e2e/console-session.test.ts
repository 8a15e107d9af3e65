import test from 'ava';
import type { Client } from '../support/clients/client.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);
const address = '/api/console/session';

/** Sends the request as a browser does, which names its origin. */
async function send(
  client: Client,
  method: string,
  path: string,
  { body, ...headers }: { readonly body?: object; readonly cookie?: string; readonly origin?: string } = {},
) {
  const origin = new URL(client.baseUrl).origin;
  return client.call(method, path, { ...(body && { body }), headers: { origin, ...headers } });
}

const cookieOf = (headers: Headers): string => headers.get('set-cookie')?.split(';')[0] ?? '';

test('a browser keeps its sign-in in a cookie that no script reads', async (t) => {
  const { client, bootstrap } = await shared.tenant(t);
  const opened = await send(client, 'POST', address, { body: bootstrap.owner });
  t.is(opened.status, 200);
  t.false('refresh_token' in opened.json.data);
  const attributes = opened.headers.get('set-cookie') ?? '';
  for (const attribute of ['HttpOnly', 'SameSite=Strict', `Path=${address}`])
    t.true(attributes.includes(attribute));
  t.is(opened.headers.get('cache-control'), 'no-store');
  const cookie = cookieOf(opened.headers);
  // Reloads and further pages use the same cookie, also at once.
  const renewed = await Promise.all(
    [1, 2, 3].map(() => send(client, 'POST', `${address}/refresh`, { cookie })),
  );
  for (const { status, json } of renewed) {
    t.is(status, 200);
    const me = await client.call('GET', '/api/auth/me', { token: json.data.access_token });
    t.is(me.json.data.user.email, bootstrap.owner.email);
  }
  const ended = await send(client, 'DELETE', address, { cookie });
  t.is(ended.status, 200);
  t.regex(ended.headers.get('set-cookie') ?? '', /Max-Age=0/);
  const after = await send(client, 'POST', `${address}/refresh`, { cookie });
  t.is(after.json.data, null);
  t.regex(after.headers.get('set-cookie') ?? '', /Max-Age=0/);
});

test('the refresh token of another sign-in is taken over and used up', async (t) => {
  const { client, bootstrap } = await shared.tenant(t);
  const { json } = await client.call('POST', '/api/auth/login', { body: bootstrap.owner });
  const { refresh_token } = json.data;
  const opened = await send(client, 'POST', address, { body: { refresh_token } });
  t.is(opened.status, 200);
  t.is(opened.json.data.user.email, bootstrap.owner.email);
  const cookie = cookieOf(opened.headers);
  t.truthy((await send(client, 'POST', `${address}/refresh`, { cookie })).json.data);
  const again = await send(client, 'POST', address, { body: { refresh_token } });
  t.is(again.status, 401);
  // It was copied by somebody: the whole sign-in ends.
  t.is((await send(client, 'POST', `${address}/refresh`, { cookie })).json.data, null);
});

test('pages of other origins cannot use the cookie', async (t) => {
  const { client, bootstrap } = await shared.tenant(t);
  const { headers } = await send(client, 'POST', address, { body: bootstrap.owner });
  const cookie = cookieOf(headers);
  for (const origin of ['https://other.example', 'null']) {
    for (const [method, path] of [
      ['POST', `${address}/refresh`],
      ['DELETE', address],
    ] as const) {
      const { status, json } = await send(client, method, path, { cookie, origin });
      t.is(status, 403, `${method} ${path} from ${origin}`);
      t.is(json.error, 'insufficient_permissions');
    }
    t.is((await send(client, 'POST', address, { body: bootstrap.owner, origin })).status, 403);
  }
  t.truthy((await send(client, 'POST', `${address}/refresh`, { cookie })).json.data);
});

test('a visitor without a sign-in is told so, and a wrong password is refused', async (t) => {
  const { client, bootstrap } = await shared.tenant(t);
  for (const cookie of ['', 'troupe_session=unknown', 'other=1']) {
    const { status, json } = await send(client, 'POST', `${address}/refresh`, { cookie });
    t.is(status, 200);
    t.is(json.data, null);
  }
  const wrong = { ...bootstrap.owner, password: 'not the password' };
  t.is((await send(client, 'POST', address, { body: wrong })).status, 401);
});
