import { type Time, within } from '../../../cluster/index.js';
import type { LookUpRecords } from '../../infra/egress/index.js';

/** SPF may query ten times with a few addresses each, each signature once, the policy twice. */
const queriesMax = 60;
/** The time of all lookups of one mail. */
const queriesMs = 8_000;
const types: ReadonlySet<string> = new Set(['A', 'AAAA', 'MX', 'PTR', 'TXT', 'CNAME']);

/** The DNS lookups of one mail, bounded in number and time. Further lookups fail like an unresponsive name server. */
export function boundedDns(resolve: LookUpRecords, time: Time): LookUpRecords {
  const endsAtMs = time.monotonicMs() + queriesMs;
  let queries = 0;
  return async (name, type) => {
    queries += 1;
    if (queries > queriesMax || !types.has(type) || name.length > 255) throw dnsError('EREFUSED');
    return within(time, Math.max(0, endsAtMs - time.monotonicMs()), resolve(name, type), () => {
      throw dnsError('ETIMEOUT');
    });
  };
}

export function dnsError(code: string): Error & { readonly code: string } {
  return Object.assign(new Error(`The name server answered ${code}.`), { code });
}

export function codeOf(error: unknown): string {
  const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined;
  return typeof code === 'string' ? code : 'ESERVFAIL';
}
