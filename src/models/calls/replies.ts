import type { ErrorCode } from '../../kernel/errors.js';
import { RawReply } from '../../http/operations/index.js';
import { honouredBy, type LlmRequest, type Target } from '../../llm/index.js';
import type { Payer } from './model-calls.js';

/** Names the payer: the tenant, with its own key, or the platform, within the tenant's quota. */
export function payerHeaders(payer: Payer | undefined): Readonly<Record<string, string>> {
  return payer === undefined ? {} : { 'X-Troupe-Paid-By': payer };
}

const namesMax = 50;

/** Names the fields of the request that did not reach the vendor that answered. */
export function ignoredHeaders(
  request: LlmRequest,
  target: Target | undefined,
): Readonly<Record<string, string>> {
  if (target === undefined || request.wire === undefined) return {};
  const names = honouredBy(request, target.model).ignored.map(({ field }) => field);
  // A caller may invent any name; a header holds only plain ones.
  const plain = names.filter((name) => /^[\w.-]{1,100}$/.test(name)).slice(0, namesMax);
  return plain.length === 0 ? {} : { 'X-Troupe-Ignored': plain.join(', ') };
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
