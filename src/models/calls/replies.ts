import { RawReply } from '../../http/operations/index.js';
import type { Payer } from './model-calls.js';

/** Who pays for the call: the tenant, by a key of its own, or the platform, by the tenant's quota. */
export function payerHeaders(payer: Payer | undefined): Readonly<Record<string, string>> {
  return payer === undefined ? {} : { 'X-Troupe-Paid-By': payer };
}

/** The caller left; nobody reads this any more. */
export const toNobody = new RawReply('text/plain; charset=utf-8', '', { status: 499 });
