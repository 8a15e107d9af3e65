// Content of tenants and strangers, as a browser gets it from the API's origin.
import test from 'ava';
import { openBrowser } from '../support/clients/browser.js';
import { eventually } from '../support/clocks/eventually.js';
import { type TenantNode } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';
import { ownerView } from '../support/database/owner-view.js';
import { asOwner, createTrigger, type TestTrigger } from '../support/builders/triggers.js';

const shared = sharedNode(test);

const page = '<html xmlns="http://www.w3.org/1999/xhtml"><script>alert(document.domain)</script></html>';
const open = { auth: { type: 'none' }, execution: { mode: 'async', ack_response: { body: page } } };

function acknowledging(contentType: string): Record<string, unknown> {
  return {
    auth: { type: 'none' },
    execution: { mode: 'async', ack_response: { body: page, content_type: contentType } },
  };
}

function send(node: TenantNode, { path }: TestTrigger, headers: Record<string, string> = {}) {
  return node.client.call('POST', path, { body: { message: 'hi' }, headers });
}

test('an acknowledgement is JSON, XML or plain text, and a browser that opens it runs nothing', async (t) => {
  const node = await shared.tenant(t);
  for (const contentType of [
    'application/json',
    'application/xml',
    'text/xml; charset=utf-8',
    'Text/Plain;charset="UTF-8"',
  ]) {
    const trigger = await createTrigger(node, acknowledging(contentType));
    const { status, headers } = await send(node, trigger);
    t.is(status, 202);
    t.is(headers.get('content-type'), contentType);
    t.is(headers.get('content-security-policy'), 'sandbox');
    t.is(headers.get('x-content-type-options'), 'nosniff');
  }
});

test('an acknowledgement of a type that a browser renders is refused on save', async (t) => {
  const node = await shared.tenant(t);
  const trigger = await createTrigger(node, open);
  for (const contentType of [
    'text/html',
    'TEXT/HTML; charset=utf-8',
    'application/xhtml+xml',
    'image/svg+xml',
    'text/javascript',
    'text/css',
    'application/pdf',
    'multipart/x-mixed-replace; boundary=x',
    'text/plain; x="; text/html"',
    'text/plain, text/html',
    'application/vnd.api+json',
  ]) {
    const refusal = {
      status: 400,
      json: {
        error: 'validation_error',
        details: { field: 'trigger_config.execution.ack_response.content_type' },
      },
    };
    const body = {
      agent_id: node.bootstrap.agent_id,
      name: `page ${contentType}`,
      trigger_type: 'webhook',
      trigger_config: acknowledging(contentType),
    };
    t.like(await asOwner(node, 'POST', '/api/triggers', body), refusal, contentType);
    const patch = { trigger_config: { execution: { ack_response: { content_type: contentType } } } };
    t.like(await asOwner(node, 'PATCH', `/api/triggers/${trigger.id}`, patch), refusal, contentType);
  }
});

test('a page saved or stored earlier as an answer is served as plain text', async (t) => {
  const node = await shared.tenant(t);
  const trigger = await createTrigger(node, open);
  const key = { 'idempotency-key': 'again' };
  t.is((await send(node, trigger, key)).status, 202);
  const owner = await ownerView(node.databaseUrl);
  t.teardown(() => owner.end());
  const type = '{execution,ack_response,content_type}';
  await owner.query(
    `update triggers set config = jsonb_set(config, '${type}', '"text/html"') where id = $1`,
    [trigger.id],
  );
  await owner.query(
    `update trigger_inbox set answer = jsonb_set(answer::jsonb, '{contentType}', '"text/html"')
     where trigger_id = $1 and answer is not null`,
    [trigger.id],
  );
  // Any change without the acknowledgement is accepted, and makes the node load the trigger again.
  const renamed = await asOwner(node, 'PATCH', `/api/triggers/${trigger.id}`, { name: 'renamed' });
  t.is(renamed.status, 200, renamed.text);
  for (const answer of [await send(node, trigger), await send(node, trigger, key)]) {
    t.is(answer.status, 202);
    t.is(answer.headers.get('content-type'), 'text/plain; charset=utf-8');
    t.is(answer.headers.get('content-security-policy'), 'sandbox');
    t.is(answer.text, page);
  }
});

test('every webhook answer is sandboxed: synchronous, TwiML, blocked, and the echo', async (t) => {
  const node = await shared.tenant(t);
  const says = async (trigger: TestTrigger, contentType: string): Promise<void> => {
    const { headers } = await node.client.call('POST', trigger.path, {
      body: { message: page, from: 'eve' },
    });
    t.is(headers.get('content-type'), contentType);
    t.is(headers.get('content-security-policy'), 'sandbox');
    t.is(headers.get('x-content-type-options'), 'nosniff');
  };
  const none = { auth: { type: 'none' } };
  await says(await createTrigger(node, none), 'application/json; charset=utf-8');
  await says(
    await createTrigger(node, { ...none, response_adapter: { format: 'twiml' } }),
    'text/xml; charset=utf-8',
  );
  const closed = { mode: 'whitelist', identity_field: 'from', identifiers: ['ada'] };
  await says(await createTrigger(node, { ...none, sender_access: closed }), 'text/xml');
  const whatsapp = await createTrigger(node, { ...none, channel: { type: 'whatsapp_cloud' } });
  const query = new URLSearchParams({
    'hub.mode': 'subscribe',
    'hub.verify_token': whatsapp.secret,
    'hub.challenge': page,
  });
  const echo = await node.client.call('GET', `${whatsapp.path}?${query.toString()}`);
  t.is(echo.text, page);
  t.is(echo.headers.get('content-type'), 'text/plain; charset=utf-8');
  t.is(echo.headers.get('content-security-policy'), 'sandbox');
  t.is(echo.headers.get('x-content-type-options'), 'nosniff');
});

test('a refusal that repeats the request is JSON, which no browser renders', async (t) => {
  const node = await shared.tenant(t);
  const script = encodeURIComponent('<script>alert(1)</script>');
  for (const [method, path, options] of [
    ['GET', `/${script}`, {}],
    ['GET', `/api/agents/${script}`, {}],
    ['GET', `/api/v1/sessions?limit=${script}`, {}],
    ['POST', '/api/auth/login', { body: '{}', headers: { 'content-type': 'text/<script>' } }],
    ['POST', '/api/auth/login', { body: { '<script>': 1, email: '<script>' } }],
  ] as const) {
    const { headers, status } = await node.client.call(method, path, options);
    t.true(status >= 400, path);
    t.is(headers.get('content-type'), 'application/json; charset=utf-8', path);
    t.is(headers.get('x-content-type-options'), 'nosniff', path);
  }
});

test("the platform's pages load and run only their own content", async (t) => {
  const node = await shared.tenant(t);
  for (const path of ['/docs', '/join?token=x', '/playground']) {
    const { headers } = await node.client.call('GET', path);
    const policy = headers.get('content-security-policy') ?? '';
    for (const rule of [
      "default-src 'none'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ]) {
      t.true(policy.includes(rule), `${path}: ${rule}`);
    }
    t.false(policy.includes('unsafe'), path);
    t.is(headers.get('x-content-type-options'), 'nosniff', path);
    t.is(headers.get('referrer-policy'), 'no-referrer', path);
  }
});

test("a browser shows a tenant's XML and runs none of its scripts", async (t) => {
  t.timeout(600_000);
  const node = await shared.tenant(t);
  const body =
    '<html xmlns="http://www.w3.org/1999/xhtml"><body><script>new Image().src = "/ran";</script>' +
    '<img src="/shown"/></body></html>';
  const trigger = await createTrigger(node, {
    auth: { type: 'none' },
    query_extraction: { mode: 'full_body' },
    execution: { mode: 'async', ack_response: { body, content_type: 'application/xml' } },
  });
  const browser = await openBrowser(t);
  const asked: string[] = [];
  browser.on('request', (request) => asked.push(new URL(request.url(), node.client.baseUrl).pathname));
  // As a page of a stranger would open it.
  await browser.setContent(
    `<form method="post" action="${node.client.baseUrl}${trigger.path}"><input name="message" value="hi"></form>`,
  );
  await Promise.all([browser.waitForNavigation(), browser.evaluate('document.forms[0].submit()')]);
  // The picture is after the script, so its request comes after the script's request would.
  await eventually(() => asked.includes('/shown'), { timeoutMs: 60_000 });
  t.false(asked.includes('/ran'));
});
