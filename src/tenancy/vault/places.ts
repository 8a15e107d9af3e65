import { isLoopbackAddress } from '../../kernel/address.js';
import { allowsHost } from './allowed-hosts.js';

/** How something is spoken to. Of the same host each way is another place: it decides who can read what is sent. */
export type Scheme = 'https' | 'http' | 'imaps' | 'imap+starttls' | 'postgresql+tls' | 'postgresql';

/** Where a secret is sent. */
export interface Place {
  readonly scheme: Scheme;
  readonly host: string;
  readonly port: number;
}

/** The port that a scheme with TLS has by itself. */
const usualPorts: Partial<Record<Scheme, number>> = { https: 443, imaps: 993, 'postgresql+tls': 5_432 };
const inTheClear: ReadonlySet<Scheme> = new Set(['http', 'postgresql']);

export function placeOfUrl({ protocol, hostname, port }: URL): Place {
  const scheme = protocol === 'https:' ? 'https' : 'http';
  return { scheme, host: hostname, port: port === '' ? (scheme === 'https' ? 443 : 80) : Number(port) };
}

/** `<scheme>://<host>:<port>`, the same for every spelling of the host. */
export function textOfPlace({ scheme, host, port }: Place): string {
  return `${scheme}://${host.toLowerCase().replace(/\.$/, '')}:${port}`;
}

/** For people. */
export function namedPlace({ scheme, host, port }: Place): string {
  return `${host} by ${scheme}, port ${port}`;
}

/** What an approval stands for that was given when only hosts were named. */
export function isUsualPlace({ scheme, port }: Place): boolean {
  return usualPorts[scheme] === port;
}

/** Whether others on the way could read what is sent there. */
export function isReadable({ scheme, host }: Place): boolean {
  const name = host.toLowerCase().replace(/^\[|\]$|\.$/g, '');
  const isThisMachine = isLoopbackAddress(name) || name === 'localhost' || name.endsWith('.localhost');
  return inTheClear.has(scheme) && !isThisMachine;
}

/** A list names hosts: whoever wrote it meant the host, and not whoever listens on the way to it. */
export function allowsPlace(allowedHosts: readonly string[] | null, place: Place): boolean {
  return allowsHost(allowedHosts, place.host) && !isReadable(place);
}
