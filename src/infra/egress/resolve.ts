import dns from 'node:dns/promises';
import { isIP } from 'node:net';
import type { AddressRules } from './address-rules.js';
import { EgressError } from './egress-error.js';
import { fixedAddresses, forbidden } from './target-rules.js';

/** All addresses of a name; empty when it has none. Rejects when nobody could say. */
export type Lookup = (host: string) => Promise<readonly string[]>;

/**
 * The addresses of the host that may be connected to. The caller connects to one of these and to nothing else: to ask
 * again would let the name change its mind in between.
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
    throw new EgressError('name_not_found', `The host ${host} was not found.`, { neverSent: true });
  }
  const refusal = rules.refusalOf(refused) ?? '';
  // Which private address the name has is told only to those who wrote it down themselves.
  const message = isIP(host) === 0 ? `points to an address that ${refusal}` : forbidden(host, refusal);
  throw new EgressError('forbidden_target', `The host ${host} ${message}.`, { neverSent: true });
}

async function ask(lookup: Lookup, host: string): Promise<readonly string[]> {
  try {
    return await lookup(host);
  } catch (cause) {
    throw new EgressError('name_not_found', `The host ${host} could not be looked up.`, {
      neverSent: true,
      cause,
    });
  }
}

const answersTimeoutMs = 3_000;

/** Two of the four threads that this process has for all its files, hashes and look-ups. */
const systemLookupsMax = 2;
const systemLookupsWaitingMax = 256;

/**
 * Asks the name servers directly. The operating system's own look-up (`getaddrinfo`) occupies one of four threads until
 * the name server answers, and a tenant can own a name server that never does; password hashing would wait with it. It
 * is asked only for what the name servers do not know, since it alone reads the hosts file, and by few at a time.
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
      // Whoever ends hands over its place, so nobody can step in between.
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
