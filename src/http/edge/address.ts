import ipaddr from 'ipaddr.js';
import type { HttpRequest } from 'uWebSockets.js';
import { plainAddress } from '../../kernel/address.js';

type Range = ReturnType<typeof ipaddr.parseCIDR>;

/**
 * The address that a request counts for: the socket's, unless that belongs to a trusted proxy. In that case, all lines
 * of `X-Forwarded-For` form one list (RFC 9110, 5.3), read from the right: each proxy appends the address that it was
 * called from, so the first address that is not a trusted proxy is the client's. The client can invent everything to the
 * left of it.
 */
export class AddressReader {
  readonly #trusted: readonly Range[];
  /** IPv4 addresses from the native side and their text; clients use theirs for many requests. */
  readonly #spelled = new Map<number, string>();

  constructor(trustedProxies: readonly string[]) {
    this.#trusted = trustedProxies.map((range) => ipaddr.parseCIDR(range));
  }

  /** False if no proxy is trusted; forwarding headers are then ignored. */
  get trustsProxies(): boolean {
    return this.#trusted.length > 0;
  }

  /** `native`: the 4 or 16 bytes of the socket's address. */
  read(native: ArrayBuffer, request: Pick<HttpRequest, 'forEach'>): string {
    const address = native.byteLength === 4 ? this.#spell(native) : spell(native);
    if (!this.trustsProxies || !this.#isTrusted(address)) return address;
    return this.#client(address, hopsOf(request));
  }

  /** A hop that is not an address ends the walk at the last valid one: nothing left of it can be trusted. */
  #client(proxy: string, hops: readonly string[]): string {
    let last = proxy;
    for (const hop of hops.toReversed()) {
      const address = addressOf(hop);
      if (address === undefined) return last;
      last = address;
      if (!this.#isTrusted(address)) return last;
    }
    return last;
  }

  #spell(native: ArrayBuffer): string {
    const number = new DataView(native).getUint32(0);
    let spelled = this.#spelled.get(number);
    if (spelled === undefined) {
      if (this.#spelled.size >= spelledMax) this.#spelled.clear();
      this.#spelled.set(number, (spelled = spell(native)));
    }
    return spelled;
  }

  #isTrusted(address: string): boolean {
    if (address === unknownAddress) return false;
    const parsed = ipaddr.process(address);
    return this.#trusted.some(
      ([range, bits]) => parsed.kind() === range.kind() && parsed.match([range, bits] as never),
    );
  }
}

/** `getHeader` returns only the first line of a header, and the client may have sent that one. */
function hopsOf(request: Pick<HttpRequest, 'forEach'>): readonly string[] {
  const lines: string[] = [];
  request.forEach((name, value) => {
    if (name === 'x-forwarded-for') lines.push(value);
  });
  return lines
    .join(',')
    .split(',')
    .map((hop) => hop.trim())
    .filter((hop) => hop !== '');
}

/** Some load balancers append the port: `203.0.113.7:50312`, `[2001:db8::1]:443`. */
const withPort = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d{1,5})?$/;

/** The address of one hop in plain spelling; undefined for values such as `unknown`, `_hidden` or `127.1`. */
function addressOf(hop: string): string | undefined {
  const [, six, four] = withPort.exec(hop) ?? [];
  const text = six ?? four ?? hop;
  // A zone id has a meaning only on one machine; short and octal forms of IPv4 are ambiguous.
  const isAddress =
    (ipaddr.IPv6.isValid(text) && !text.includes('%')) || ipaddr.IPv4.isValidFourPartDecimal(text);
  return isAddress ? plainAddress(text) : undefined;
}

function spell(native: ArrayBuffer): string {
  if (native.byteLength === 0) return unknownAddress;
  return plainAddress(ipaddr.fromByteArray([...new Uint8Array(native)]).toString());
}

/** For a socket that ended before its request was read. */
const unknownAddress = 'unknown';
const spelledMax = 10_000;
