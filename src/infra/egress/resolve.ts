import dns from 'node:dns/promises';
import { isIP } from 'node:net';
import type { AddressRules } from './address-rules.js';
import { EgressError } from './egress-error.js';
import { fixedAddresses, forbidden } from './target-rules.js';

/** All addresses of a name; empty if it has none. Rejects if the look-up fails. */
export type Lookup = (host: string) => Promise<readonly string[]>;

/**
 * The permitted addresses of the host. The caller must connect to one of these and not look the name up again: the
 * second answer could differ.
 */
export async function permittedAddresses(
  rules: AddressRules,
  lookup: Lookup,
  host: string,
): Promise<readonly [string, ...string[]]> {
  const found = isIP(host) === 0 ? (fixedAddresses(host) ?? (await ask(lookup, host))) : [host];
  const [first, ...others] = found.filter((address) => rules.refusalOf(address) === undefined);
  if (first !== undefined) return [first, ...others];
  const [refused] = found;
  if (refused === undefined) {
    throw new EgressError('name_not_found', `The host ${host} was not found.`, { host, neverSent: true });
  }
  const refusal = rules.refusalOf(refused) ?? '';
  // The message names the private address only if the tenant wrote it as a literal.
  const message = isIP(host) === 0 ? `points to an address that ${refusal}` : forbidden(host, refusal);
  throw new EgressError('forbidden_target', `The host ${host} ${message}.`, { host, neverSent: true });
}

async function ask(lookup: Lookup, host: string): Promise<readonly string[]> {
  try {
    return await lookup(host);
  } catch (cause) {
    throw new EgressError('name_not_found', `The host ${host} could not be looked up.`, {
      host,
      neverSent: true,
      cause,
    });
  }
}

const answersTimeoutMs = 3_000;

/** Two of the four threads that the process shares for files, hashes and look-ups. */
const systemLookupsMax = 2;
const systemLookupsWaitingMax = 256;

/**
 * Queries the name servers directly. The operating system's look-up (`getaddrinfo`) occupies one of four threads until
 * the name server answers, and a tenant can own a name server that never does; password hashing would wait too. The
 * system look-up is used only for names that the name servers do not know, because only it reads the hosts file, and
 * only for a few at a time.
 */
export function systemLookup(nameServers?: readonly string[]): Lookup {
  const resolver = new dns.Resolver({ timeout: answersTimeoutMs, tries: 2 });
  if (nameServers !== undefined) resolver.setServers(nameServers);
  const throughSystem = bounded(systemLookupsMax, systemLookupsWaitingMax, async (host: string) =>
    (await dns.lookup(host, { all: true })).map(({ address }) => address),
  );
  return async (host) => {
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (found.length > 0) return found;
    const slow = answers.find(
      (answer) => answer.status === 'rejected' && codeOf(answer.reason) === 'ETIMEOUT',
    );
    if (slow?.status === 'rejected') throw slow.reason;
    try {
      return await throughSystem(host);
    } catch (error) {
      if (codeOf(error) === 'ENOTFOUND') return [];
      throw error;
    }
  };
}

function codeOf(error: unknown): unknown {
  return error instanceof Error ? Reflect.get(error, 'code') : undefined;
}

function bounded<Input, Output>(
  runningMax: number,
  waitingMax: number,
  work: (input: Input) => Promise<Output>,
): (input: Input) => Promise<Output> {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (input) => {
    if (running >= runningMax) {
      if (waiting.length >= waitingMax) throw new Error('too many look-ups are waiting');
      // The finished look-up passes its place on, so no other look-up can take it in between.
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else {
      running += 1;
    }
    try {
      return await work(input);
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
