import { BlockList } from 'node:net';

/** A client as the network shows it: an IPv4 address as a number, or the first half of an IPv6 address as text. */
export type Peer = number | string;

/** Reads the addresses of connections, and knows those of the proxies that speak for others. */
export class PeerReader {
  readonly #proxies = new BlockList();
  readonly #hasProxies: boolean;

  constructor(trustedProxies: readonly string[]) {
    this.#hasProxies = trustedProxies.length > 0;
    for (const range of trustedProxies) {
      const [address = '', bits = ''] = range.split('/');
      this.#proxies.addSubnet(address, Number(bits), address.includes(':') ? 'ipv6' : 'ipv4');
    }
  }

  /** `native`: the 4 or 16 bytes of the address, none when the connection has just ended. */
  read(native: ArrayBuffer): Peer {
    return native.byteLength === 0 ? 'unknown' : peerOf(new Uint8Array(native));
  }

  isProxy(native: ArrayBuffer): boolean {
    if (!this.#hasProxies || native.byteLength === 0) return false;
    const bytes = Buffer.from(native);
    const mapped = bytes.length === 16 && isMapped(bytes) ? bytes.subarray(12) : bytes;
    return mapped.length === 4
      ? this.#proxies.check(mapped.join('.'))
      : this.#proxies.check((mapped.toString('hex').match(/.{4}/g) ?? []).join(':'), 'ipv6');
  }
}

/** Of 4 or 16 bytes in the order of the network. */
export function peerOf(bytes: Uint8Array): Peer {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length === 4) return view.getUint32(0);
  return isMapped(bytes) ? view.getUint32(12) : view.getBigUint64(0).toString(16);
}

/** IPv4 as a socket for both families shows it: `::ffff:1.2.3.4`. */
function isMapped(bytes: Uint8Array): boolean {
  return bytes[10] === 0xff && bytes[11] === 0xff && bytes.subarray(0, 10).every((byte) => byte === 0);
}
