import test from 'ava';
import fc from 'fast-check';
import { PlatformError } from '../../../../src/kernel/errors.js';
import { createEgress, EgressError, type Lookup } from '../../../../src/infra/egress/index.js';
import { forbiddenHosts } from '../../../support/builders/forbidden-hosts.js';
import { anyText } from '../../../support/builders/any-text.js';

const neverAsked: Lookup = (host) => Promise.reject(new Error(`${host} was looked up`));
const closed = createEgress({ allow: [], lookup: neverAsked });

function refused(field: string) {
  return { instanceOf: PlatformError, code: 'validation_error', message: new RegExp(`^${field}: `) };
}

test('every form of a forbidden address is refused on saving and on calling', async (t) => {
  t.true(forbiddenHosts.length >= 40);
  for (const host of forbiddenHosts) {
    for (const url of [`http://${host}/x`, `https://${host}:8443/`]) {
      t.throws(() => closed.checkUrl(url, 'url'), refused('url'), url);
      const error = await t.throwsAsync(
        closed.fetchGuarded({ url, timeoutMs: 5_000 }),
        { instanceOf: EgressError },
        url,
      );
      t.like(
        error,
        { failure: 'forbidden_target', code: 'provider_error', retry: 'never', neverSent: true },
        url,
      );
    }
  }
});

test('every form of a forbidden address is refused for other protocols', async (t) => {
  for (const host of forbiddenHosts) {
    // A URL's own escapes mean nothing outside of one.
    const bare = host.replace(/^\[|\]$/g, '');
    t.throws(() => closed.checkHost(bare, 5432, 'host'), refused('host'), bare);
    await t.throwsAsync(
      closed.connectGuarded(bare, 5432, { timeoutMs: 5_000 }),
      { instanceOf: EgressError },
      bare,
    );
    await t.throwsAsync(closed.permittedAddresses(bare, 5432), { instanceOf: EgressError }, bare);
  }
});

test('public addresses and names pass', (t) => {
  for (const host of [
    '8.8.8.8',
    '1.1.1.1',
    '172.15.0.1',
    '172.32.0.1',
    '100.63.0.1',
    '192.167.0.1',
    '11.0.0.1',
  ]) {
    t.is(closed.checkUrl(`https://${host}/`, 'url').hostname, host);
    t.notThrows(() => closed.checkHost(host, 5432, 'host'));
  }
  for (const host of [
    '[2606:4700::1111]',
    'example.com',
    'a-b.example.co.uk',
    'x_y.example.com',
    'bücher.example',
  ]) {
    t.notThrows(() => closed.checkUrl(`https://${host}/path?query=1#part`, 'url'), host);
  }
});

test('a port without a listener is an address like others', (t) => {
  for (const port of [1, 9]) {
    t.notThrows(() => closed.checkUrl(`http://example.com:${port}/`, 'callback.url'), String(port));
  }
});

test('a URL that is not a plain HTTP address is refused', (t) => {
  for (const url of [
    '',
    'example.com',
    '/path',
    '//example.com/',
    'ftp://example.com/',
    'file:///etc/passwd',
    'gopher://x.org/',
    'javascript:alert(1)',
    'data:text/plain,x',
    'http://',
    'https://user@example.com/',
    'https://u:p@example.com/',
    'http://example.com:0/',
    'http://example.com:25/',
    'https://example.com:22/',
    'http://example.com:99999/',
    'http://exa\nmple.com/',
    'http://example.com/\tx',
    'http://exa mple.com/',
    'http://${args.host}/x',
    'https://{{host}}/',
    'http://example..com/',
    'http://.example.com/',
    'http://-x.org/',
    'http://[fe80::1%25eth0]/',
    `https://example.com/${'x'.repeat(9_000)}`,
  ]) {
    t.throws(() => closed.checkUrl(url, 'callback.url'), refused('callback.url'), url.slice(0, 60));
  }
  const hosts: readonly (readonly [string, number])[] = [
    ['', 1],
    ['a b', 1],
    ['x/y', 1],
    ['u@x.org', 1],
    ['x.org:5', 1],
    ['x.org?', 1],
    ['x'.repeat(300), 1],
    ['x.org', 0],
    ['x.org', 65_536],
    ['x.org', 1.5],
    ['x.org', Number.NaN],
  ];
  for (const [host, port] of hosts) {
    t.throws(() => closed.checkHost(host, port, 'host'), refused('host'), `${host}:${port}`);
  }
});

test('an allow-list opens its entries and nothing beside them', (t) => {
  const some = createEgress({ allow: ['10.1.0.0/16', '127.0.0.1', 'fd00:1::/64'], lookup: neverAsked });
  for (const host of ['10.1.2.3', '127.0.0.1', 'localhost', '[fd00:1::5]', '[::ffff:10.1.2.3]', '0x7f.1']) {
    t.notThrows(() => some.checkUrl(`http://${host}/`, 'url'), host);
  }
  for (const host of [
    '10.2.0.1',
    '127.0.0.2',
    '[fd00:2::5]',
    '[::1]',
    '[::ffff:10.2.0.1]',
    '[64:ff9b::10.1.2.3]',
  ]) {
    t.throws(() => some.checkUrl(`http://${host}/`, 'url'), refused('url'), host);
  }
});

test('a metadata service opens only to a separate entry', (t) => {
  const wide = createEgress({ allow: ['0.0.0.0/0', '::/0'], lookup: neverAsked });
  t.notThrows(() => wide.checkUrl('http://169.254.1.1/', 'url'));
  for (const host of ['169.254.169.254', '168.63.129.16', '[fd00:ec2::254]', '[::ffff:169.254.169.254]']) {
    t.throws(() => wide.checkUrl(`http://${host}/`, 'url'), refused('url'), host);
  }
  const exact = createEgress({ allow: ['169.254.169.254/32'], lookup: neverAsked });
  t.notThrows(() => exact.checkUrl('http://169.254.169.254/', 'url'));
});

test('an unreadable allow-list is refused', (t) => {
  for (const range of ['10/8', '10.0.0.0/33', 'example.com', '10.0.0.0/', '::/129', '0x7f.0.0.0/8', '']) {
    t.throws(() => createEgress({ allow: [range] }), { message: /is not a CIDR/ }, range);
  }
});

test('every spelling of an IPv4 address gets the same verdict', (t) => {
  fc.assert(
    fc.property(fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255)), (parts) => {
      const [a, b, c, d] = parts;
      const whole = ((a * 256 + b) * 256 + c) * 256 + d;
      const forms = [
        parts.join('.'),
        String(whole),
        `0x${whole.toString(16)}`,
        `0${whole.toString(8)}`,
        parts.map((part) => `0${part.toString(8)}`).join('.'),
        `${a}.${b}.${c * 256 + d}`,
        `[::ffff:${parts.join('.')}]`,
      ];
      const verdicts = new Set(forms.map((host) => passes(`http://${host}/`)));
      t.is(verdicts.size, 1, parts.join('.'));
    }),
  );
});

function passes(url: string): boolean {
  try {
    closed.checkUrl(url, 'url');
    return true;
  } catch {
    return false;
  }
}

test('every text is checked without an error other than the refusal', (t) => {
  fc.assert(
    fc.property(fc.oneof(anyText(), fc.webUrl({ withFragments: true })), (text) => {
      for (const check of [() => closed.checkUrl(text, 'f'), () => closed.checkHost(text, 80, 'f')]) {
        try {
          check();
        } catch (error) {
          t.true(error instanceof PlatformError, String(error));
        }
      }
    }),
  );
});

test('headers of the connection, and invalid header values, are refused', (t) => {
  t.notThrows(() => closed.checkHeaders({ Authorization: 'Bearer x', 'X-Name': 'J\u00fcrgen' }, 'headers'));
  for (const headers of [
    { Host: 'x' },
    { 'content-length': '1' },
    { 'Transfer-Encoding': 'chunked' },
    { connection: 'close' },
    { 'Proxy-Authorization': 'x' },
    { upgrade: 'h2c' },
    { Expect: '100-continue' },
    { 'a b': 'x' },
    { '': 'x' },
    { a: 'x\r\nEvil: 1' },
    { a: 'x\n' },
    { a: '\0' },
    { a: '\u20ac' },
    { a: 'x'.repeat(9_000) },
    Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`h${index}`, 'x'])),
  ]) {
    t.throws(
      () => closed.checkHeaders(headers, 'headers'),
      refused('headers(\\.[^:]+)?'),
      JSON.stringify(headers).slice(0, 40),
    );
  }
});
