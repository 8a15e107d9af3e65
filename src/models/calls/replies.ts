import type { ErrorCode } from '../../kernel/errors.js';
import { RawReply } from '../../http/operations/index.js';
import type { Payer } from './model-calls.js';

/** Names the payer: the tenant, with its own key, or the platform, within the tenant's quota. */
export function payerHeaders(payer: Payer | undefined): Readonly<Record<string, string>> {
  return payer === undefined ? {} : { 'X-Troupe-Paid-By': payer };
}

/** The caller left and does not read the reply. */
export const toNobody = new RawReply('text/plain; charset=utf-8', '', { status: 499 });

/** What a model call through a compatible interface may be refused with. */
export const compatRefusals: readonly ErrorCode[] = [
  'missing_required_field',
  'invalid_model',
  'invalid_model_for_key',
  'email_unverified',
  'MODEL_TIER_RESTRICTED',
  'quota_exceeded',
  'provider_error',
  'provider_timeout',
  'provider_unavailable',
];
