import ipaddr from 'ipaddr.js';

/** One spelling per address: an IPv4 address mapped into IPv6 becomes plain IPv4. */
export function plainAddress(address: string): string {
  return ipaddr.isValid(address) ? ipaddr.process(address).toString() : address;
}

/**
 * The unit in which addresses are counted: an IPv4 address, or the /64 of an IPv6 address. A provider gives one customer
 * a whole /64, and the customer may send each request from another address of it.
 */
export function addressGroup(address: string): string {
  if (!address.includes(':') || !ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (!(parsed instanceof ipaddr.IPv6)) return parsed.toString();
  const network = parsed.parts.slice(0, 4).map((part) => part.toString(16));
  return `${network.join(':')}::/64`;
}

export function isLoopbackAddress(address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback';
}

/** Whether the value of a `Host` header names this machine itself: `localhost` or a loopback address, with any port. */
export function isLoopbackHost(host: string): boolean {
  const [, inBrackets, name = inBrackets ?? ''] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host) ?? [];
  return name.toLowerCase() === 'localhost' || isLoopbackAddress(name);
}
