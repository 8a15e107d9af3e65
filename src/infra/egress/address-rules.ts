import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * The addresses that a tenant may call: global unicast, and those that the operator allowed. Everything else is refused
 * because it is absent from that list, so special ranges unknown to this code are refused too.
 */
type Address = ipaddr.IPv4 | ipaddr.IPv6;

interface Range {
  readonly base: Address;
  readonly prefixLength: number;
}

/**
 * Metadata services expose credentials of the machine. Some look like ordinary addresses, or a broad allow-list would
 * open them by accident. Only an allow-list entry for exactly this address opens one.
 */
const metadataServices = new Set([
  '169.254.169.254', // AWS, Azure, Google Cloud and most others
  '169.254.170.2', // AWS ECS tasks
  '169.254.170.23', // AWS EKS pods
  '100.100.100.200', // Alibaba Cloud
  '168.63.129.16', // Azure's host; a public address in form
  '192.0.0.192', // Oracle Cloud
  'fd00:ec2::254', // AWS
  'fd00:ec2::23', // AWS EKS pods
  'fd20:ce::254', // Google Cloud
]);

/** IPv6 has a single range of public addresses; everything outside is refused. */
const globalUnicast: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3];

export class AddressRules {
  readonly #allowed: readonly Range[];

  /** `allowed` are CIDRs such as `10.1.0.0/16`; throws on an invalid one. */
  constructor(allowed: readonly string[]) {
    this.#allowed = allowed.map(parseRange);
  }

  /** The reason why the address may not be reached, worded for the tenant; undefined if it may. */
  refusalOf(text: string): string | undefined {
    // A zone (`fe80::1%eth0`) names an interface of this machine; tenants may not use it.
    if (isIP(text) === 0 || text.includes('%')) return 'is not an address';
    const address = unmapped(ipaddr.parse(text));
    if (this.#isAllowed(address)) return undefined;
    if (metadataServices.has(address.toString())) return 'is a metadata service';
    const range = address.range();
    if (range !== 'unicast') return `lies in a ${wordsFor(range)} range`;
    if (address.kind() === 'ipv6' && !matches(address, globalUnicast)) return 'is not a public address';
    return undefined;
  }

  #isAllowed(address: Address): boolean {
    const exactOnly = metadataServices.has(address.toString());
    return this.#allowed.some(({ base, prefixLength }) => {
      if (exactOnly && prefixLength !== (base.kind() === 'ipv4' ? 32 : 128)) return false;
      return matches(address, [base, prefixLength]);
    });
  }
}

/** `::ffff:10.0.0.1` reaches 10.0.0.1, so the rules for 10.0.0.1 apply. */
function unmapped(address: Address): Address {
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

function matches(address: Address, [base, prefixLength]: [Address, number]): boolean {
  if (address instanceof ipaddr.IPv4 && base instanceof ipaddr.IPv4) return address.match(base, prefixLength);
  if (address instanceof ipaddr.IPv6 && base instanceof ipaddr.IPv6) return address.match(base, prefixLength);
  return false;
}

function parseRange(text: string): Range {
  const whole =
    text.includes('/') || !ipaddr.isValid(text) ? text : `${text}/${text.includes(':') ? 128 : 32}`;
  // "10/8" can mean 10.0.0.0/8 or 0.0.0.10; refuse it instead of guessing.
  const readable = whole.includes(':') || ipaddr.IPv4.isValidCIDRFourPartDecimal(whole);
  if (!readable || !ipaddr.isValidCIDR(whole)) {
    throw new Error(`"${text}" is not a CIDR such as 10.1.0.0/16 or fd00:1::/64`);
  }
  const [base, prefixLength] = ipaddr.parseCIDR(whole);
  return { base, prefixLength };
}

function wordsFor(range: string): string {
  switch (range) {
    case 'linkLocal':
      return 'link-local';
    case 'carrierGradeNat':
      return 'carrier-grade NAT';
    case 'uniqueLocal':
      return 'private';
    case '6to4':
    case 'teredo':
    case 'rfc6145':
    case 'rfc6052':
      return 'IPv4-translating';
    case 'loopback':
    case 'private':
    case 'multicast':
      return range;
    default:
      return 'reserved';
  }
}
