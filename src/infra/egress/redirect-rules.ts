import type { AddressRules } from './address-rules.js';
import { EgressError } from './egress-error.js';
import { readUrl, type Target } from './target-rules.js';

const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** The target of a redirect; undefined for any other answer. */
export function locationOf(status: number, location: string | string[] | undefined): string | undefined {
  return redirects.has(status) && typeof location === 'string' ? location : undefined;
}

/** Like browsers: 303 turns every method into GET, 301 and 302 only POST. */
export function dropsBody(status: number, method: string): boolean {
  return status === 303 || (status < 303 && method === 'POST');
}

/**
 * The next target of a redirect. It must be on the same origin or, if the request has no secret, the upgrade to TLS on
 * the default ports: any other target would get headers and body meant for the first.
 */
export function nextTarget(
  rules: AddressRules,
  from: Target,
  location: string,
  { holdsSecret = false }: { readonly holdsSecret?: boolean } = {},
): Target {
  const refuse = (where: string) =>
    new EgressError('redirect_refused', `${from.host} redirects to ${where}.`, { host: from.host });
  if (!URL.canParse(location, from.url.href)) throw refuse('an invalid URL');
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
  if (typeof target === 'string') throw refuse(`a URL that ${target}`);
  return target;
}
