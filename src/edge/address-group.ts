import ipaddr from 'ipaddr.js';

/**
 * What stands for one client where bytes and connections are counted: an IPv4 address, or the /64 of an IPv6 address,
 * since a single customer of a provider is given a whole /64 and may send each request from another of its addresses.
 */
export function groupOf(address: string): string {
  if (!address.includes(':') || !ipaddr.IPv6.isValid(address)) return address;
  const [one = 0, two = 0, three = 0, four = 0] = ipaddr.IPv6.parse(address).parts;
  return `${one.toString(16)}:${two.toString(16)}:${three.toString(16)}:${four.toString(16)}::/64`;
}
