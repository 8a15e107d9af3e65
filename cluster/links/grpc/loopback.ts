import { BlockList, isIP } from 'node:net';

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** Whether a host or host:port is on the loopback. A name other than `localhost` may resolve to any machine. */
export function isLoopback(address: string): boolean {
  const host = hostOf(address);
  const family = isIP(host);
  if (family === 0) return host.toLowerCase() === 'localhost';
  return loopback.check(host, family === 4 ? 'ipv4' : 'ipv6');
}

/** The host of a host or host:port. */
export function hostOf(address: string): string {
  if (isIP(address) !== 0) return address;
  const [, bracketed, plain] = /^(?:\[([^\]]+)\]|([^:]*))(?::\d+)?$/.exec(address) ?? [];
  return bracketed ?? plain ?? address;
}
