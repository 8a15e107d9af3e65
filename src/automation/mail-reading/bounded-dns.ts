import type { Time, Timer } from '../../../cluster/index.js';
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
    let timer: Timer | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = time.after(Math.max(0, endsAtMs - time.monotonicMs()), () => reject(dnsError('ETIMEOUT')));
    });
    try {
      return await Promise.race([resolve(name, type), late]);
    } finally {
      timer?.cancel();
    }
  };
}

export function dnsError(code: string): Error & { readonly code: string } {
  return Object.assign(new Error(`The name server answered ${code}.`), { code });
}

export function codeOf(error: unknown): string {
  const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined;
  return typeof code === 'string' ? code : 'ESERVFAIL';
}
