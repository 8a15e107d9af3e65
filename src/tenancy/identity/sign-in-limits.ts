import { createHash } from 'node:crypto';
import { addressGroup } from '../../kernel/address.js';
import { type PlatformError, tooManyRequests } from '../../kernel/errors.js';
import type { Store } from '../../infra/storage/index.js';
import { emailKeyOf } from './fields.js';
import { countFailures, insertFailure, lockSubject, sweepFailures } from './sign-in-failures.store.js';

/**
 * Limits the failed sign-ins of an account and of an address within a window. Counted in PostgreSQL, because an attacker
 * would otherwise spread guesses over the nodes.
 */
export const signInWindowMs = 15 * 60_000;
const failuresMax = { account: 10, address: 60 } as const;

type SubjectKind = keyof typeof failuresMax;

interface Subject {
  readonly kind: SubjectKind;
  readonly key: Buffer;
  readonly limit: number;
}

export interface SignInLimits {
  /** Throws the refusal if the account or the address has used up its failures. */
  check(email: string, address: string): Promise<void>;
  /** Counts one failure for both. Throws the refusal if one of them had none left. */
  recordFailure(email: string, address: string): Promise<void>;
  /** Removes failures outside of the window. */
  sweep(): Promise<void>;
}

const sweptRowsMax = 10_000;

export function createSignInLimits(store: Store, nowMs: () => number): SignInLimits {
  return {
    async check(email, address) {
      const now = nowMs();
      const refusal = await store.directory(async (tx) => {
        for (const subject of subjectsOf(email, address)) {
          const found = await countFailures(tx, subject.key, new Date(now - signInWindowMs), subject.limit);
          if (found.count >= subject.limit) return refusalOf(subject, found.oldest, now);
        }
        return undefined;
      });
      if (refusal !== undefined) throw refusal;
    },

    async recordFailure(email, address) {
      const now = nowMs();
      const subjects = subjectsOf(email, address);
      const refusal = await store.directory(async (tx) => {
        // Concurrent guesses may all have passed `check`. Under the locks each one is counted, and guesses beyond the limit
        // get no answer. The order of the locks is fixed, so that no two requests deadlock.
        for (const { key } of subjects.toSorted((one, other) => Buffer.compare(one.key, other.key))) {
          await lockSubject(tx, key);
        }
        for (const subject of subjects) {
          const found = await countFailures(tx, subject.key, new Date(now - signInWindowMs), subject.limit);
          if (found.count >= subject.limit) return refusalOf(subject, found.oldest, now);
        }
        for (const { key } of subjects) await insertFailure(tx, key, new Date(now));
        return undefined;
      });
      if (refusal !== undefined) throw refusal;
    },

    async sweep() {
      const before = new Date(nowMs() - signInWindowMs);
      await store.directory((tx) => sweepFailures(tx, before, sweptRowsMax));
    },
  };
}

function subjectsOf(email: string, address: string): readonly Subject[] {
  return [subjectOf('account', emailKeyOf(email)), subjectOf('address', addressGroup(address))];
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
