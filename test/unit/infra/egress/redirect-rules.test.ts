import test from 'ava';
import { AddressRules } from '../../../../src/infra/egress/address-rules.js';
import { EgressError } from '../../../../src/infra/egress/egress-error.js';
import { nextTarget } from '../../../../src/infra/egress/redirect-rules.js';

const rules = new AddressRules([]);

function next(from: string, location: string): string {
  const url = new URL(from);
  return nextTarget(rules, { url, host: url.hostname }, location).url.href;
}

test('a redirect within the host is followed, with TLS or towards it', (t) => {
  t.is(next('https://a.test/x', '/y?z'), 'https://a.test/y?z');
  t.is(next('https://a.test/x/', 'y'), 'https://a.test/x/y');
  t.is(next('https://a.test:8443/', '//A.test:8443/y'), 'https://a.test:8443/y');
  t.is(next('http://a.test/', 'https://a.test/'), 'https://a.test/');
  t.is(next('http://a.test:80/', 'https://a.test:443/'), 'https://a.test/');
});

test('a request with a secret stays where the secret may be sent, with or without TLS', (t) => {
  const held = (from: string, location: string): string => {
    const url = new URL(from);
    return nextTarget(rules, { url, host: url.hostname }, location, { holdsSecret: true }).url.href;
  };
  t.is(held('http://a.test/x', '/y'), 'http://a.test/y');
  t.is(held('https://a.test/x', 'https://a.test:443/y'), 'https://a.test/y');
  t.throws(() => held('http://a.test/', 'https://a.test/'), { instanceOf: EgressError });
});

test('a redirect away from the host, to another port or away from TLS is refused', (t) => {
  const refused = [
    ['https://a.test/', 'https://b.test/'],
    ['http://a.test/', 'https://b.test/'],
    ['http://a.test/', 'https://a.test.b.test/'],
    ['https://a.test/', '//b.test/'],
    ['https://a.test/', 'https:\\\\b.test/'],
    ['https://a.test/', 'http://a.test/'],
    ['https://a.test/', 'https://a.test:8443/'],
    ['http://a.test:8080/', 'https://a.test/'],
    ['http://a.test/', 'https://a.test:8443/'],
    ['https://a.test/', 'https://user@a.test/'],
    ['https://a.test/', 'ftp://a.test/'],
    ['https://a.test/', 'https://'],
    ['http://127.0.0.1/', 'http://127.0.0.1/again'],
  ] as const;
  for (const [from, location] of refused) {
    const error = t.throws(() => next(from, location), { instanceOf: EgressError }, `${from} ${location}`);
    t.like(error, { failure: 'redirect_refused', retry: 'never' });
  }
});
