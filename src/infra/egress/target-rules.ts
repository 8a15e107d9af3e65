import { isIP } from 'node:net';
import type { AddressRules } from './address-rules.js';

const urlLengthMax = 8_192;

/**
 * Ports of protocols that a crafted HTTP request can speak by accident (mail above all), so that tenants cannot send
 * mail or commands through the platform: the part of the Fetch standard's list that still has servers. Ports 1 and 9 are
 * not listed: nothing answers there, and people use them for an address that does not answer.
 */
const foreignPorts = new Set([
  0, 7, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109,
  110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526,
  530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659,
  4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10_080,
]);

export interface Target {
  readonly url: URL;
  /** The name, or the address without brackets. */
  readonly host: string;
}

/** The target of the URL, or why it is refused. Does not resolve a name. */
export function readUrl(rules: AddressRules, text: string): Target | string {
  if (text.length > urlLengthMax) return `is longer than ${urlLengthMax} characters`;
  // The URL parser drops line ends and tabs, so the fetched URL would differ from the text.
  if (/\p{Cc}/u.test(text)) return 'contains control characters';
  const url = parse(text);
  if (url === undefined) return 'is not an absolute URL';
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must begin with https:// or http://';
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password';
  if (url.port !== '' && foreignPorts.has(Number(url.port)))
    return `names port ${url.port}, which is not permitted for HTTP`;
  const host = plainHost(url.hostname);
  const refusal = refusalOfHost(rules, host);
  return refusal === undefined ? { url, host } : refusal;
}

/** The host to connect to, for protocols other than HTTP; or why it is refused. */
export function readHost(rules: AddressRules, text: string, port: number): { host: string } | string {
  if (!Number.isInteger(port) || port < 1 || port > 65_535) return 'needs a port between 1 and 65535';
  // Parsed like the host of a URL, so that 0x7f.1, 2130706433 and similar forms become the address they stand for.
  const url = text.length > 255 ? undefined : parse(`http://${isIP(text) === 6 ? `[${text}]` : text}/`);
  const whole = url?.pathname === '/' && url.search === '' && url.hash === '' && url.port === '';
  if (url === undefined || !whole || url.username !== '' || url.password !== '' || /[/?#@\\]/.test(text)) {
    return 'is not a host name or address';
  }
  const host = plainHost(url.hostname);
  const refusal = refusalOfHost(rules, host);
  return refusal === undefined ? { host } : refusal;
}

/** The host of any text that a tenant wrote as a URL, for messages: no user name, password or path. */
export function hostNamed(text: string): string {
  const hostname = parse(text)?.hostname ?? '';
  return hostname === '' ? 'unknown' : plainHost(hostname);
}

function parse(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}

export function plainHost(hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname.replace(/\.$/, '');
}

/** The addresses of names that always mean this machine, without a look-up (RFC 6761). */
export function fixedAddresses(host: string): readonly string[] | undefined {
  return host === 'localhost' || host.endsWith('.localhost') ? ['127.0.0.1', '::1'] : undefined;
}

function refusalOfHost(rules: AddressRules, host: string): string | undefined {
  if (isIP(host) !== 0) {
    const refusal = rules.refusalOf(host);
    return refusal === undefined ? undefined : forbidden(host, refusal);
  }
  if (!/^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$/.test(host))
    return 'has a host that is neither a name nor an address';
  const refusals = fixedAddresses(host)?.map((address) => rules.refusalOf(address));
  const refusal = refusals?.every((found) => found !== undefined) === true ? refusals[0] : undefined;
  return refusal === undefined ? undefined : forbidden(host, refusal);
}

export function forbidden(host: string, refusal: string): string {
  return `points to ${host}, which ${refusal} and may not be reached from here`;
}
