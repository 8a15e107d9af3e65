import dns from 'node:dns/promises';

/** Queries DNS records of any type, in the result form of `resolve` of Node's resolver; errors have a `code`. */
export type LookUpRecords = (name: string, type: string) => Promise<unknown>;

const answersTimeoutMs = 2_000;

/**
 * Queries the name servers of this machine, or the given ones. A name chosen by a tenant costs a socket and at most two
 * tries, and none of the threads that the process uses for its files.
 */
export function systemRecords(nameServers?: readonly string[]): LookUpRecords {
  const resolver = new dns.Resolver({ timeout: answersTimeoutMs, tries: 2 });
  if (nameServers !== undefined) resolver.setServers(nameServers);
  return (name, type) => resolver.resolve(name, type);
}

/** Throws if the name servers do not answer; "no such record" is an answer. */
export async function examineNameServers(name: string): Promise<void> {
  try {
    await systemRecords()(name, 'MX');
  } catch (error) {
    const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined;
    if (code !== 'ENOTFOUND' && code !== 'ENODATA') throw error;
  }
}
