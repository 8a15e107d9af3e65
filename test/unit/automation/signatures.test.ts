import { createHmac } from 'node:crypto';
import test from 'ava';
import { Webhook } from 'standardwebhooks';
import { callbackSignature } from '../../../src/automation/outbox/callback-signature.js';
import {
  isHubSigned,
  isSigned,
  isTimestampInBody,
  isTwilioSigned,
} from '../../../src/automation/intake/signature.js';
import { SecretValue } from '../../../src/tenancy/vault/index.js';

const body = Buffer.from('{"message":"hello"}');
const nowMs = 1_800_000_000_000;
const secrets = [new SecretValue('new secret'), new SecretValue('old secret')];

function signed(algorithm: string, secret: string, timestamp?: string): string {
  const content = timestamp === undefined ? body : Buffer.concat([Buffer.from(`${timestamp}.`), body]);
  return `${algorithm}=${createHmac(algorithm, secret).update(content).digest('hex')}`;
}

function check(signature: string | undefined, timestamp?: string, requireTimestamp = false): boolean {
  return isSigned({ body, signature, timestamp }, secrets, { requireTimestamp, nowMs });
}

test('a signature of the raw body is accepted with either algorithm and either valid secret', (t) => {
  for (const algorithm of ['sha256', 'sha512']) {
    for (const secret of ['new secret', 'old secret']) t.true(check(signed(algorithm, secret)));
    t.false(check(signed(algorithm, 'another secret')));
  }
  t.true(check(signed('sha256', 'new secret').toUpperCase().replace('SHA256', 'sha256')));
});

test('a missing, cut or malformed signature is refused', (t) => {
  const good = signed('sha256', 'new secret');
  for (const wrong of [
    undefined,
    '',
    good.slice(7),
    good.slice(0, -2),
    `${good}00`,
    `${good}zz`,
    `${good}=00`,
    `md5=${good.slice(7)}`,
    'sha256=',
  ])
    t.false(check(wrong), String(wrong));
  t.false(
    isSigned({ body: Buffer.from('{}'), signature: good, timestamp: undefined }, secrets, {
      requireTimestamp: false,
      nowMs,
    }),
  );
});

test('a signature covers its timestamp, which is at most five minutes away', (t) => {
  const at = (offsetSeconds: number): string => String(nowMs / 1_000 + offsetSeconds);
  for (const offset of [0, -299, 299]) t.true(check(signed('sha256', 'new secret', at(offset)), at(offset)));
  for (const offset of [-301, 301]) t.false(check(signed('sha256', 'new secret', at(offset)), at(offset)));
  t.false(check(signed('sha256', 'new secret'), at(0)), 'the body alone was signed');
  t.false(check(signed('sha256', 'new secret', at(0)), at(1)), 'another moment was signed');
  t.false(check(signed('sha256', 'new secret', 'now'), 'now'));
});

/** The replay of an observed request with a signed timestamp: timestamp and body as one body. */
function joined(timestamp: string, rest: string | Uint8Array, secret = 'new secret') {
  const whole = Buffer.concat([Buffer.from(`${timestamp}.`), Buffer.from(rest)]);
  const signature = `sha256=${createHmac('sha256', secret).update(whole).digest('hex')}`;
  return { body: whole, signature, timestamp: undefined };
}

test('a body signed with a timestamp cannot be sent again without one', (t) => {
  const options = { requireTimestamp: false, nowMs };
  for (const offset of [0, -299, 299, -86_400, 86_400 * 365]) {
    const request = joined(String(nowMs / 1_000 + offset), body);
    t.false(isSigned(request, secrets, options));
    t.true(isTimestampInBody(request));
  }
  for (const rest of ['', '5', ' {"a":1}', '.']) {
    t.false(isSigned(joined(String(nowMs / 1_000), rest), secrets, options));
  }
});

test('a timestamp has exactly ten digits, so that body and timestamp cannot be split differently', (t) => {
  const now = String(nowMs / 1_000);
  for (const odd of [`0${now}`, `00${now}`, `+${now}`, `${now}.0`, ` ${now}`]) {
    t.false(check(signed('sha256', 'new secret', odd), odd), odd);
  }
});

test('bodies that begin with other numbers are accepted without a timestamp', (t) => {
  const options = { requireTimestamp: false, nowMs };
  for (const [number, rest] of [
    ['3', '14'],
    ['1', ' milk\n2. eggs'],
    ['2027', ' A year.'],
    ['170000000', '5'],
    ['17000000000', '5'],
    ['0700000000', '5'],
    ['-1700000000', '5'],
    ['€1700000000', '5'],
  ] as const) {
    const request = joined(number, rest);
    t.true(isSigned(request, secrets, options), `${number}.${rest}`);
    t.false(isTimestampInBody(request));
  }
  for (const whole of ['1700000000', '17000000005', '1700000000,5', '{"at":1700000000.5}']) {
    const signature = `sha256=${createHmac('sha256', 'new secret').update(whole).digest('hex')}`;
    t.true(isSigned({ body: Buffer.from(whole), signature, timestamp: undefined }, secrets, options), whole);
  }
});

test('a body that begins like a timestamp is accepted with its own timestamp', (t) => {
  const whole = Buffer.from('1700000000.5');
  const timestamp = String(nowMs / 1_000);
  const { signature } = joined(timestamp, whole);
  const options = { requireTimestamp: true, nowMs };
  t.true(isSigned({ body: whole, signature, timestamp }, secrets, options));
  t.false(isTimestampInBody({ body: whole, signature, timestamp }));
});

test('a trigger can require the timestamp', (t) => {
  const now = String(nowMs / 1_000);
  t.false(check(signed('sha256', 'new secret'), undefined, true));
  t.true(check(signed('sha256', 'new secret', now), now, true));
});

test("Twilio's published signature is accepted, and nothing that differs from it", (t) => {
  const fields = {
    CallSid: 'CA1234567890ABCDE',
    Caller: '+14158675309',
    Digits: '1234',
    From: '+14158675309',
    To: '+18005551212',
  };
  const address = 'https://mycompany.com/myapp.php?foo=1&bar=2';
  const signature = 'RSOYDt4T1cUTdK1PDd93/VVr8B8=';
  const form = new URLSearchParams(fields);
  t.true(isTwilioSigned([address], form, signature, '12345'));
  t.true(isTwilioSigned([address.replace('.com/', '.com:443/')], form, signature, '12345'));
  t.false(isTwilioSigned([address], form, signature, '12346'));
  t.false(isTwilioSigned([`${address}3`], form, signature, '12345'));
  t.false(isTwilioSigned([address], new URLSearchParams({ ...fields, Digits: '1235' }), signature, '12345'));
  t.false(isTwilioSigned([address], form, undefined, '12345'));
  t.false(isTwilioSigned([address], form, '', '12345'));
});

test("fields of Twilio's signature cannot be split differently to hide the message id", (t) => {
  const address = 'https://mycompany.com/hook';
  const sid = `SM${'0123456789abcdef'.repeat(2)}`;
  const fields = { Body: 'hi', From: '+4917', MessageSid: sid, NumMedia: '0', SmsSid: sid };
  const content = `BodyhiFrom+4917MessageSid${sid}NumMedia0SmsSid${sid}`;
  const signature = createHmac('sha1', '12345').update(`${address}${content}`).digest('base64');
  const isTaken = (form: Record<string, string>): boolean =>
    isTwilioSigned([address], new URLSearchParams(form), signature, '12345');
  t.true(isTaken(fields));
  const rest = `MessageSid${sid}NumMedia0SmsSid${sid}`;
  const forgeries: readonly Record<string, string>[] = [
    { Body: 'hi', From: `+4917${rest}` },
    { Body: `hiFrom+4917${rest}` },
    { Body: 'hi', From: '+4917', MessageSid: sid.slice(0, 12), [`${sid.slice(12)}NumMedia0SmsSid`]: sid },
    { Body: 'hi', From: '+4917', MessageSid: '', [`${sid}NumMedia`]: `0SmsSid${sid}` },
    { Body: 'hi', From: '+4917', [`MessageSid${sid}Num`]: `Media0SmsSid${sid}` },
  ];
  for (const forged of forgeries) t.false(isTaken(forged), JSON.stringify(forged));
});

test('the published hub signature is accepted, and nothing that differs from it', (t) => {
  const signature = 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17';
  const secret = "It's a Secret to Everybody";
  t.true(isHubSigned(Buffer.from('Hello, World!'), signature, secret));
  t.false(isHubSigned(Buffer.from('Hello, World?'), signature, secret));
  t.false(isHubSigned(Buffer.from('Hello, World!'), signature.slice(7), secret));
  t.false(isHubSigned(Buffer.from('Hello, World!'), undefined, secret));
});

test('callbacks carry the published signature of Standard Webhooks', (t) => {
  const secret = new SecretValue('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
  const headers = callbackSignature(
    'msg_p5jXN8AQM9LWM0D4loKWxJek',
    new Date(1_614_265_330_000),
    '{"test": 2432232314}',
    [secret],
  );
  t.deepEqual(headers, {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
});

test('during a rotation a callback can be verified with either secret', (t) => {
  const both = [
    `whsec_${Buffer.alloc(32, 1).toString('base64')}`,
    `whsec_${Buffer.alloc(32, 2).toString('base64')}`,
  ];
  const headers = callbackSignature(
    'e:1',
    new Date(),
    '{"a":1}',
    both.map((one) => new SecretValue(one)),
  );
  for (const secret of both) t.deepEqual(new Webhook(secret).verify('{"a":1}', { ...headers }), { a: 1 });
  const third = new Webhook(`whsec_${Buffer.alloc(32, 3).toString('base64')}`);
  t.throws(() => third.verify('{"a":1}', { ...headers }));
});
