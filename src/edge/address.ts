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
  /** IPv4 addresses as the native side gives them, already spelled; clients keep theirs for many requests. */
  readonly #spelled = new Map<number, string>();

  constructor(trustedProxies: readonly string[]) {
    this.#trusted = trustedProxies.map((range) => ipaddr.parseCIDR(range));
  }

  /** False where no proxy is trusted, so that the header need not even be read. */
  get readsForwarded(): boolean {
    return this.#trusted.length > 0;
  }

  /** `native`: the 4 or 16 bytes of the socket's address. */
  read(native: ArrayBuffer, forwardedFor: string): string {
    const address = native.byteLength === 4 ? this.#spell(native) : spell(native);
    if (this.#trusted.length === 0 || forwardedFor === '' || !this.#isTrusted(address)) return address;
    const hops = forwardedFor.split(',').map((hop) => hop.trim());
    for (const hop of hops.toReversed()) {
      if (!ipaddr.isValid(hop)) return address;
      if (!this.#isTrusted(hop)) return plainAddress(hop);
    }
    return address;
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
    const parsed = ipaddr.process(address);
    return this.#trusted.some(
      ([range, bits]) => parsed.kind() === range.kind() && parsed.match([range, bits] as never),
    );
  }
}

function spell(native: ArrayBuffer): string {
  if (native.byteLength === 0) return 'unknown';
  return plainAddress(ipaddr.fromByteArray([...new Uint8Array(native)]).toString());
}

const spelledMax = 10_000;
