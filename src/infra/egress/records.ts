import dns from 'node:dns/promises';

/** Asks DNS for records of any type, as `resolve` of Node's resolver answers them; its errors have a `code`. */
export type LookUpRecords = (name: string, type: string) => Promise<unknown>;

const answersTimeoutMs = 2_000;

/**
 * Asks the name servers of this machine, or those that are named. A name of a tenant's choosing costs a socket and at
 * most two tries, and none of the threads that the process has for its files.
 */
export function systemRecords(nameServers?: readonly string[]): LookUpRecords {
  const resolver = new dns.Resolver({ timeout: answersTimeoutMs, tries: 2 });
  if (nameServers !== undefined) resolver.setServers(nameServers);
  return (name, type) => resolver.resolve(name, type);
}

/** Whether the name servers answer at all; that a name has no such record is an answer. */
export async function examineNameServers(name: string): Promise<void> {
  try {
    await systemRecords()(name, 'MX');
  } catch (error) {
    const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined;
    if (code !== 'ENOTFOUND' && code !== 'ENODATA') throw error;
  }
}
