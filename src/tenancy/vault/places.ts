import { isLoopbackAddress } from '../../kernel/address.js';
import { allowsHost } from './allowed-hosts.js';

/** The protocol of a connection. Each scheme of a host is another place: it decides who can read the traffic. */
export type Scheme = 'https' | 'http' | 'imaps' | 'imap+starttls' | 'postgresql+tls' | 'postgresql';

/** A destination of a secret. */
export interface Place {
  readonly scheme: Scheme;
  readonly host: string;
  readonly port: number;
}

/** The default port of a scheme with TLS. */
const usualPorts: Partial<Record<Scheme, number>> = { https: 443, imaps: 993, 'postgresql+tls': 5_432 };
const inTheClear: ReadonlySet<Scheme> = new Set(['http', 'postgresql']);

export function placeOfUrl({ protocol, hostname, port }: URL): Place {
  const scheme = protocol === 'https:' ? 'https' : 'http';
  return { scheme, host: hostname, port: port === '' ? (scheme === 'https' ? 443 : 80) : Number(port) };
}

/** `<scheme>://<host>:<port>`, equal for every spelling of the host. */
export function textOfPlace({ scheme, host, port }: Place): string {
  return `${scheme}://${host.toLowerCase().replace(/\.$/, '')}:${port}`;
}

/** The text for messages to people. */
export function namedPlace({ scheme, host, port }: Place): string {
  return `${host} by ${scheme}, port ${port}`;
}

/** Whether an approval that names only a host covers this place. */
export function isUsualPlace({ scheme, port }: Place): boolean {
  return usualPorts[scheme] === port;
}

/** Whether others on the network could read what is sent there. */
export function isReadable({ scheme, host }: Place): boolean {
  const name = host.toLowerCase().replace(/^\[|\]$|\.$/g, '');
  const isThisMachine = isLoopbackAddress(name) || name === 'localhost' || name.endsWith('.localhost');
  return inTheClear.has(scheme) && !isThisMachine;
}

/** A list names hosts only, so it allows a place only if no other machine can read the traffic. */
export function allowsPlace(allowedHosts: readonly string[] | null, place: Place): boolean {
  return allowsHost(allowedHosts, place.host) && !isReadable(place);
}
