/** The messages between nodes for questions of admission and their answers. */
import {
  type AdmitEntry,
  type Verdict,
  Verdict_Outcome as Outcome,
} from '../../../../generated/troupe/actors/v1/quota.js';
import type { Admitted } from '../../../http/operations/index.js';
import { requiredPart, wireEnum } from '../../../infra/runtime/index.js';
import { PlatformError } from '../../../kernel/errors.js';
import type { TenantScope } from '../../../kernel/tenant-scope.js';
import type { CountedKey, WorkLimits } from '../admission.js';

/** What is asked about one request. */
export interface AdmissionQuestion {
  readonly limits: WorkLimits;
  /** Undefined for model work without a key. */
  readonly key: CountedKey | undefined;
  /** An incoming request: counts in the key's window, or checks the tenant's. */
  readonly enters: boolean;
  /** Model work: counts in the tenant's minute and day and the key's lifetime. */
  readonly works: boolean;
}

/** Limits per minute are unlimited from here on. */
const perMinuteMax = 0xff_ff_ff_ff;

export function entryToWire({ limits, key, enters, works }: AdmissionQuestion): AdmitEntry {
  return {
    key: key === undefined ? undefined : keyToWire(key),
    tenantPerMinute: Math.min(limits.requestsPerMinute, perMinuteMax),
    tenantPerDay: limits.requestsPerDay,
    enters,
    works,
  };
}

/** The tenant is not part of the message: it is the actor's own. */
export function entryFromWire(scope: TenantScope, entry: AdmitEntry): AdmissionQuestion {
  const { key, tenantPerMinute, tenantPerDay, enters, works } = entry;
  return {
    limits: { requestsPerMinute: tenantPerMinute, requestsPerDay: tenantPerDay },
    key:
      key === undefined
        ? undefined
        : {
            scope,
            keyId: key.id,
            requestsPerMinute: key.perMinute,
            quotaLimit: key.lifetime ?? null,
          },
    enters,
    works,
  };
}

function keyToWire({ keyId, requestsPerMinute, quotaLimit }: CountedKey): NonNullable<AdmitEntry['key']> {
  const perMinute = Math.min(requestsPerMinute, perMinuteMax);
  return { id: keyId, perMinute, lifetime: quotaLimit ?? undefined };
}

type OutcomeWord = 'admitted' | 'rate exceeded' | 'quota exceeded' | 'unavailable';

const outcomes = wireEnum<OutcomeWord, Outcome>('Verdict.outcome', {
  admitted: Outcome.ADMITTED,
  'rate exceeded': Outcome.RATE_EXCEEDED,
  'quota exceeded': Outcome.QUOTA_EXCEEDED,
  unavailable: Outcome.UNAVAILABLE,
});

export function verdictToWire({ figures, refusal }: Admitted): Verdict {
  const { limit, remaining, reset } = figures;
  const used = refusal?.details?.['used'];
  return {
    outcome: outcomes.toWire(outcomeOf(refusal)),
    limit,
    remaining,
    reset,
    retryAfterSeconds: refusal?.retryAfterSeconds ?? 0,
    used: typeof used === 'number' ? used : undefined,
  };
}

/** The answer if the count could not be kept. */
export const unavailable: Verdict = {
  outcome: Outcome.UNAVAILABLE,
  limit: 0,
  remaining: 0,
  reset: 0,
  retryAfterSeconds: 1,
  used: undefined,
};

/** Throws if the count could not be kept. */
export function verdictFromWire(part: Verdict | undefined): Admitted {
  const verdict = requiredPart('AdmitResponse.answers', part);
  const { limit, remaining, reset, retryAfterSeconds } = verdict;
  const figures = { limit, remaining, reset };
  switch (outcomes.fromWire(verdict.outcome)) {
    case 'admitted':
      return { figures };
    case 'unavailable':
      throw new PlatformError('service_unavailable', { retryAfterSeconds });
    case 'quota exceeded': {
      const details = { limit, used: requiredPart('Verdict.used', verdict.used), reset_date: null };
      return { figures, refusal: new PlatformError('quota_exceeded', { details, retryAfterSeconds }) };
    }
    case 'rate exceeded': {
      const details = { ...figures, retry_after: retryAfterSeconds };
      return { figures, refusal: new PlatformError('rate_limit_exceeded', { details, retryAfterSeconds }) };
    }
  }
}

function outcomeOf(refusal: PlatformError | undefined): OutcomeWord {
  if (refusal === undefined) return 'admitted';
  return refusal.code === 'quota_exceeded' ? 'quota exceeded' : 'rate exceeded';
}
