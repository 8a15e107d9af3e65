import test from 'ava';
import { press, shows, visitConsole } from '../support/clients/console.js';
import { startTestNode } from '../support/servers/node.js';
import { startOidcIssuer } from '../support/servers/oidc-issuer.js';

// A node of its own: the issuer is a setting.
test.serial('a person signs in at the issuer, and a refusal of the issuer is told', async (t) => {
  const oidc = await startOidcIssuer();
  t.teardown(() => oidc.close());
  const node = await startTestNode(t, {
    environment: {
      TROUPE_OIDC_ISSUER: oidc.issuer,
      TROUPE_OIDC_AUDIENCE: 'another-audience',
      TROUPE_OIDC_CLIENT_ID: 'the-console',
    },
  });
  const { page } = await visitConsole(t, node, '/sign-in?next=%2F%3Ffrom%3Dissuer');
  await press(page, 'Sign in with 127.0.0.1');
  await shows(page, 'The issuer refused the sign-in: access_denied');
  oidc.person = node.bootstrap.owner.email;
  await press(page, 'Back to the sign-in', 'link');
  await press(page, 'Sign in with 127.0.0.1');
  await page.waitForSelector('nav[aria-label="Screens"]');
  t.is(await page.evaluate('sessionStorage.length'), 0);
  await page.reload();
  await page.waitForSelector('nav[aria-label="Screens"]');
});

test.serial('a code without its verifier, and the answer to another tab, sign nobody in', async (t) => {
  const oidc = await startOidcIssuer();
  t.teardown(() => oidc.close());
  const node = await startTestNode(t, {
    environment: {
      TROUPE_OIDC_ISSUER: oidc.issuer,
      TROUPE_OIDC_AUDIENCE: 'another-audience',
      TROUPE_OIDC_CLIENT_ID: 'the-console',
    },
  });
  oidc.person = node.bootstrap.owner.email;
  const { client } = node;
  const ways = await client.call('GET', '/api/console/sign-in');
  const way = new URL(ways.json.data.oidc.authorization_endpoint);
  way.search = new URLSearchParams({
    redirect_uri: ways.json.data.oidc.redirect_uri,
    client_id: 'the-console',
    code_challenge: 'of another verifier',
    nonce: 'a nonce of sixteen',
    state: 'any',
  }).toString();
  const { headers } = await fetch(way, { redirect: 'manual' });
  const code = new URL(headers.get('location') ?? '').searchParams.get('code') ?? '';
  const body = { code, code_verifier: 'v'.repeat(43), nonce: 'a nonce of sixteen' };
  const { status, json } = await client.call('POST', '/api/console/session', { body });
  t.is(status, 401);
  t.is(json.error, 'invalid_token');
  const { page } = await visitConsole(t, node, `/sign-in/return?code=${code}&state=any`);
  await shows(page, 'belongs to no sign-in of this tab');
});
