import type { AddressRules } from './address-rules.js';
import { EgressError } from './egress-error.js';
import { readUrl, type Target } from './target-rules.js';

const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Where the answer leads; undefined for one that leads nowhere. */
export function locationOf(status: number, location: string | string[] | undefined): string | undefined {
  return redirects.has(status) && typeof location === 'string' ? location : undefined;
}

/** As browsers do: 303 turns everything into GET, 301 and 302 what was POST. */
export function dropsBody(status: number, method: string): boolean {
  return status === 303 || (status < 303 && method === 'POST');
}

/**
 * The next address of a redirect. It must be on the same host, by the same way or, where nothing secret is sent, the
 * upgrade to TLS on the usual ports: any other would get the headers and the body that were meant for the first.
 */
export function nextTarget(
  rules: AddressRules,
  from: Target,
  location: string,
  { holdsSecret = false }: { readonly holdsSecret?: boolean } = {},
): Target {
  const refuse = (why: string) => new EgressError('redirect_refused', `${from.host} redirects to ${why}.`);
  if (!URL.canParse(location, from.url.href)) throw refuse('something that is no address');
  const url = new URL(location, from.url);
  const upgraded =
    !holdsSecret &&
    from.url.protocol === 'http:' &&
    url.protocol === 'https:' &&
    url.hostname === from.url.hostname &&
    from.url.port === '' &&
    url.port === '';
  if (url.origin !== from.url.origin && !upgraded) {
    throw refuse('another host, port or protocol, which is not followed');
  }
  const target = readUrl(rules, url.href);
  if (typeof target === 'string') throw refuse(`an address that ${target}`);
  return target;
}
