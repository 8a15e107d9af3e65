import ipaddr from 'ipaddr.js';
import { plainAddress } from '../context/address.js';

type Range = ReturnType<typeof ipaddr.parseCIDR>;

/**
 * The address a request counts for: the socket's, unless a trusted proxy says whom it speaks for. Of a list of
 * forwarded addresses the last one that is not itself a trusted proxy counts, since everything before it is the
 * client's own word.
 */
export class AddressReader {
  readonly #trusted: readonly Range[];

  constructor(trustedProxies: readonly string[]) {
    this.#trusted = trustedProxies.map((range) => ipaddr.parseCIDR(range));
  }

  read(socketAddress: string, forwardedFor: string): string {
    const address = plainAddress(socketAddress);
    if (this.#trusted.length === 0 || forwardedFor === '' || !this.#isTrusted(address)) return address;
    const hops = forwardedFor.split(',').map((hop) => hop.trim());
    for (const hop of hops.toReversed()) {
      if (!ipaddr.isValid(hop)) return address;
      if (!this.#isTrusted(hop)) return plainAddress(hop);
    }
    return address;
  }

  #isTrusted(address: string): boolean {
    const parsed = ipaddr.process(address);
    return this.#trusted.some(
      ([range, bits]) => parsed.kind() === range.kind() && parsed.match([range, bits] as never),
    );
  }
}
