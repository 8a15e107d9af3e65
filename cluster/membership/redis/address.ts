/** The address of Redis: one server, a set of sentinels, or a cluster. */
export type RedisAddress =
  | { readonly form: 'single'; readonly url: string }
  | {
      readonly form: 'sentinel';
      readonly name: string;
      readonly sentinels: readonly Host[];
      readonly access: Access;
    }
  | { readonly form: 'cluster'; readonly nodes: readonly Host[]; readonly access: Access };

export interface Host {
  readonly host: string;
  readonly port: number;
}

export interface Access {
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly db: number;
  readonly isEncrypted: boolean;
}

export class RedisAddressError extends Error {
  override readonly name = 'RedisAddressError';
}

const forms =
  'redis://host:port/db, redis+sentinel://host:port,host:port/name/db or redis+cluster://host:port,host:port ' +
  '(rediss for TLS)';
const pattern =
  /^(?<scheme>redis|rediss)(?:\+(?<form>sentinel|cluster))?:\/\/(?:(?<username>[^:@/]*)(?::(?<password>[^@/]*))?@)?(?<hosts>[^/?]+)(?<path>\/[^?]*)?$/;

/** Its errors never contain the password. */
export function parseRedisAddress(text: string): RedisAddress {
  const groups = pattern.exec(text)?.groups;
  const form = groups?.['form'] ?? 'single';
  if (form === 'single') {
    if (!/^rediss?:\/\/./.test(text)) throw new RedisAddressError(`invalid Redis address; expected ${forms}`);
    return { form, url: text };
  }
  const [name, db] = (groups?.['path'] ?? '').split('/').slice(1);
  const access = {
    username: decoded(groups?.['username']),
    password: decoded(groups?.['password']),
    db: db === undefined || db === '' ? 0 : Number(db),
    isEncrypted: groups?.['scheme'] === 'rediss',
  };
  if (!Number.isInteger(access.db))
    throw new RedisAddressError(`the database in the Redis address must be a number; expected ${forms}`);
  const fallbackPort = form === 'sentinel' ? 26_379 : 6_379;
  const hosts = (groups?.['hosts'] ?? '').split(',').map((host) => parseHost(host, fallbackPort));
  if (form === 'cluster') return { form, nodes: hosts, access };
  if (name === undefined || name === '')
    throw new RedisAddressError(`the Redis address lacks the name of the master; expected ${forms}`);
  return { form: 'sentinel', name, sentinels: hosts, access };
}

function parseHost(text: string, fallbackPort: number): Host {
  const match = /^(?<host>\[[0-9a-fA-F:]+\]|[^:]+)(?::(?<port>\d+))?$/.exec(text);
  const host = match?.groups?.['host'];
  if (host === undefined)
    throw new RedisAddressError(`invalid host and port in the Redis address: ${text}; expected ${forms}`);
  return { host: host.replaceAll(/[[\]]/g, ''), port: Number(match?.groups?.['port'] ?? fallbackPort) };
}

function decoded(text: string | undefined): string | undefined {
  return text === undefined || text === '' ? undefined : decodeURIComponent(text);
}
