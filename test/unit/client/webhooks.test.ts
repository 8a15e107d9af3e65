import { createHmac } from 'node:crypto';
import { sign, verify, WebhookVerificationError } from '@troupe/client';
import test from 'ava';
import { Webhook } from 'standardwebhooks';
import { isSigned } from '../../../src/automation/intake/signature.js';
import { SecretValue } from '../../../src/tenancy/vault/index.js';

const secret = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`;
const nowMs = 1_800_000_000_000;
const body = JSON.stringify({ agent_response: 'Grüße', chunk_index: 0 });

function signed(content = body, by = secret, at = nowMs): Record<string, string> {
  return {
    'webhook-id': 'execution:0',
    'Webhook-Timestamp': String(at / 1_000),
    'webhook-signature': `v1,AAAA v0,x ${new Webhook(by).sign('execution:0', new Date(at), content)}`,
  };
}

test('a callback of the platform verifies, by headers of any runtime', async (t) => {
  const headers = signed();
  for (const one of [headers, new Headers(headers), Object.entries(headers)])
    t.deepEqual(await verify({ secret, body, headers: one, nowMs }), JSON.parse(body));
  const other = `whsec_${Buffer.from('another').toString('base64')}`;
  t.truthy(await verify({ secret: [other, secret], body: Buffer.from(body), headers, nowMs }));
});

test('a changed, foreign, old or unsigned callback is refused', async (t) => {
  const refused = async (options: Parameters<typeof verify>[0]) =>
    t.throwsAsync(verify(options), { instanceOf: WebhookVerificationError });
  const headers = signed();
  await refused({ secret, body: `${body} `, headers, nowMs });
  await refused({ secret: `whsec_${Buffer.from('another').toString('base64')}`, body, headers, nowMs });
  await refused({ secret, body, headers, nowMs: nowMs + 301_000 });
  await refused({ secret, body, headers, nowMs: nowMs - 301_000 });
  await refused({ secret, body, headers: {}, nowMs });
  await refused({ secret, body, headers: { ...headers, 'webhook-signature': 'v1,%%%' }, nowMs });
  await refused({ secret, body, headers: { ...headers, 'Webhook-Timestamp': '1e9' }, nowMs });
});

test('a signed request passes the check of the platform', async (t) => {
  for (const algorithm of ['sha256', 'sha512'] as const) {
    const headers = await sign({ secret, body, algorithm, timestampSeconds: nowMs / 1_000 });
    const request = {
      body: Buffer.from(body),
      signature: headers['X-Webhook-Signature'],
      timestamp: headers['X-Webhook-Timestamp'],
    };
    t.true(isSigned(request, [new SecretValue(secret)], { requireTimestamp: true, nowMs }));
    const mac = createHmac(algorithm, secret)
      .update(`${nowMs / 1_000}.${body}`)
      .digest('hex');
    t.is(headers['X-Webhook-Signature'], `${algorithm}=${mac}`);
  }
});
