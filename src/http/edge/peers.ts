import { BlockList } from 'node:net';

/** A client's network address: IPv4 as a number, or the first half of IPv6 as text. */
export type Peer = number | string;

/** Reads the addresses of connections, and recognises trusted proxies. */
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

  /** `native`: the 4 or 16 bytes of the address; empty if the connection has just ended. */
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

/** Takes 4 or 16 bytes in network order. */
export function peerOf(bytes: Uint8Array): Peer {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length === 4) return view.getUint32(0);
  return isMapped(bytes) ? view.getUint32(12) : view.getBigUint64(0).toString(16);
}

/** An IPv4 address on a dual-stack socket: `::ffff:1.2.3.4`. */
function isMapped(bytes: Uint8Array): boolean {
  return bytes[10] === 0xff && bytes[11] === 0xff && bytes.subarray(0, 10).every((byte) => byte === 0);
}
