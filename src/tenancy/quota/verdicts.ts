import {
  type AdmitAnswer,
  type AdmitEntry,
  type Verdict,
  Verdict_Refusal as Refusal,
} from '../../../generated/troupe/actors/v1/quota.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { PlatformError } from '../../kernel/errors.js';
import type { Admitted } from '../../http/operations/index.js';
import type { CountedKey, WorkLimits } from './admission.js';

/** The messages between nodes for questions of admission and their answers. */

const figureMax = 0xff_ff_ff_ff;

export function entryOf(
  limits: WorkLimits,
  key: CountedKey | undefined,
  asks: { readonly enters: boolean; readonly works: boolean },
): AdmitEntry {
  return {
    keyId: key?.keyId ?? '',
    keyPerMinute: Math.min(key?.requestsPerMinute ?? 0, figureMax),
    hasKeyLife: key !== undefined && key.quotaLimit !== null,
    keyLife: key?.quotaLimit ?? 0,
    tenantPerMinute: Math.min(limits.requestsPerMinute, figureMax),
    tenantPerDay: limits.requestsPerDay,
    ...asks,
  };
}

export function keyOf(scope: TenantScope, entry: AdmitEntry): CountedKey | undefined {
  if (entry.keyId === '') return undefined;
  return {
    scope,
    keyId: entry.keyId,
    requestsPerMinute: entry.keyPerMinute,
    quotaLimit: entry.hasKeyLife ? entry.keyLife : null,
  };
}

export function limitsOf(entry: AdmitEntry): WorkLimits {
  return { requestsPerMinute: entry.tenantPerMinute, requestsPerDay: entry.tenantPerDay };
}

export function verdictOf({ figures, refusal }: Admitted): Verdict {
  const { limit, remaining, reset } = figures;
  const used = refusal?.details?.['used'];
  return {
    limit,
    remaining,
    reset,
    refusal: refusal === undefined ? Refusal.UNSPECIFIED : kindOf(refusal),
    retryAfterSeconds: refusal?.retryAfterSeconds ?? 0,
    used: typeof used === 'number' ? used : 0,
  };
}

export const unavailable: Verdict = {
  limit: 0,
  remaining: 0,
  reset: 0,
  refusal: Refusal.UNAVAILABLE,
  retryAfterSeconds: 1,
  used: 0,
};

/** Throws if the count could not be kept. */
export function admittedOf(verdict: Verdict | undefined): Admitted {
  if (verdict === undefined || verdict.refusal === Refusal.UNAVAILABLE) {
    throw new PlatformError('service_unavailable', { retryAfterSeconds: verdict?.retryAfterSeconds ?? 1 });
  }
  const { limit, remaining, reset, retryAfterSeconds, used } = verdict;
  const figures = { limit, remaining, reset };
  if (verdict.refusal === Refusal.UNSPECIFIED) return { figures };
  const refusal =
    verdict.refusal === Refusal.QUOTA
      ? new PlatformError('quota_exceeded', {
          details: { limit, used, reset_date: null },
          retryAfterSeconds,
        })
      : new PlatformError('rate_limit_exceeded', {
          details: { ...figures, retry_after: retryAfterSeconds },
          retryAfterSeconds,
        });
  return { figures, refusal };
}

export type { AdmitAnswer, AdmitEntry };

function kindOf({ code }: PlatformError): Refusal {
  return code === 'quota_exceeded' ? Refusal.QUOTA : Refusal.RATE;
}
