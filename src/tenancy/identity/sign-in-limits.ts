import { createHash } from 'node:crypto';
import { addressGroup } from '../../kernel/address.js';
import { type PlatformError, tooManyRequests } from '../../kernel/errors.js';
import type { DirectoryTransaction, Store } from '../../infra/storage/index.js';
import { emailKeyOf } from './fields.js';
import {
  countFailures,
  deleteFailures,
  insertFailure,
  lockSubject,
  sweepFailures,
} from './sign-in-failures.store.js';

/**
 * Limits the failed sign-ins of an account and of an address within a window. Counted in PostgreSQL, because an attacker
 * would otherwise spread guesses over the nodes. A client that the account has seen before has a count of its own:
 * strangers with wrong passwords cannot keep it out.
 */
export const signInWindowMs = 15 * 60_000;
const failuresMax = { account: 10, client: 60, address: 60 } as const;

type SubjectKind = keyof typeof failuresMax;

interface Subject {
  readonly kind: SubjectKind;
  readonly key: Buffer;
  readonly limit: number;
}

/** A sign-in that is tried. */
export interface SignInTry {
  readonly email: string;
  readonly address: string;
  /** Names a client that the account has seen before; undefined for a stranger. */
  readonly client: string | undefined;
}

export interface SignInLimits {
  /** Throws the refusal if the account (for a known client: the client) or the address has used up its failures. */
  check(tried: SignInTry): Promise<void>;
  /** Counts one failure for all of them. Throws the refusal if one that applies had none left. */
  recordFailure(tried: SignInTry): Promise<void>;
  /** Part of another transaction: forgets the failures of an account. */
  forget(tx: DirectoryTransaction, email: string): Promise<void>;
  /** Removes failures outside of the window. */
  sweep(): Promise<void>;
}

const sweptRowsMax = 10_000;

export function createSignInLimits(store: Store, nowMs: () => number): SignInLimits {
  return {
    async check(tried) {
      const now = nowMs();
      const refusal = await store.directory(async (tx) => {
        for (const subject of limiting(tried)) {
          const found = await countFailures(tx, subject.key, new Date(now - signInWindowMs), subject.limit);
          if (found.count >= subject.limit) return refusalOf(subject, found.oldest, now);
        }
        return undefined;
      });
      if (refusal !== undefined) throw refusal;
    },

    async recordFailure(tried) {
      const now = nowMs();
      const subjects = countedFor(tried);
      const refusal = await store.directory(async (tx) => {
        // Concurrent guesses may all have passed `check`. Under the locks each one is counted, and guesses beyond the limit
        // get no answer. The order of the locks is fixed, so that no two requests deadlock.
        for (const { key } of subjects.toSorted((one, other) => Buffer.compare(one.key, other.key))) {
          await lockSubject(tx, key);
        }
        for (const subject of limiting(tried)) {
          const found = await countFailures(tx, subject.key, new Date(now - signInWindowMs), subject.limit);
          if (found.count >= subject.limit) return refusalOf(subject, found.oldest, now);
        }
        for (const { key } of subjects) await insertFailure(tx, key, new Date(now));
        return undefined;
      });
      if (refusal !== undefined) throw refusal;
    },

    forget: (tx, email) => deleteFailures(tx, subjectOf('account', emailKeyOf(email)).key),

    async sweep() {
      await store.directory((tx) => sweepFailures(tx, signInWindowMs, sweptRowsMax));
    },
  };
}

/** What refuses this sign-in. */
function limiting({ email, address, client }: SignInTry): readonly Subject[] {
  const own = client === undefined ? subjectOf('account', emailKeyOf(email)) : subjectOf('client', client);
  return [own, subjectOf('address', addressGroup(address))];
}

/** What a failure counts for. */
function countedFor(tried: SignInTry): readonly Subject[] {
  const account = subjectOf('account', emailKeyOf(tried.email));
  return tried.client === undefined ? limiting(tried) : [account, ...limiting(tried)];
}

function subjectOf(kind: SubjectKind, value: string): Subject {
  return { kind, limit: failuresMax[kind], key: createHash('sha256').update(`${kind}:${value}`).digest() };
}

function refusalOf(subject: Subject, oldest: Date | null, now: number): PlatformError {
  return tooManyRequests(subject.limit, {
    atMs: (oldest?.getTime() ?? now) + signInWindowMs,
    nowMs: now,
    message: `Too many failed sign-ins for this ${subject.kind}. Try again after the seconds of Retry-After.`,
  });
}
