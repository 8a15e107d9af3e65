import { sumOfCosts } from '../../llm/index.js';

/** Sums over model calls. */
export interface Totals {
  readonly calls: number;
  readonly vendor_calls: number;
  readonly tokens: number;
  /** In dollars. */
  readonly cost: number;
  readonly response_time_ms: number;
  /** A histogram, see latency.ts. */
  readonly latency: bigint;
  readonly cache_hits: number;
  readonly cached_tokens: number;
  readonly cache_creation_tokens: number;
  readonly fallbacks: number;
}

/** Sums over the calls with the same agent, model, source and outcome. */
export interface Share extends Totals {
  readonly agent_id: string | null;
  readonly provider: string;
  readonly model: string;
  readonly call_source: string;
  readonly status: 'success' | 'error';
  /** Empty for a success. */
  readonly failure: string;
}

const nothing: Totals = {
  calls: 0,
  vendor_calls: 0,
  tokens: 0,
  cost: 0,
  response_time_ms: 0,
  latency: 0n,
  cache_hits: 0,
  cached_tokens: 0,
  cache_creation_tokens: 0,
  fallbacks: 0,
};

export function sumOf(rows: readonly Totals[]): Totals {
  return rows.reduce(
    (sum, row) => ({
      calls: sum.calls + row.calls,
      vendor_calls: sum.vendor_calls + row.vendor_calls,
      tokens: sum.tokens + row.tokens,
      cost: sumOfCosts([sum.cost, row.cost]),
      response_time_ms: sum.response_time_ms + row.response_time_ms,
      latency: sum.latency + row.latency,
      cache_hits: sum.cache_hits + row.cache_hits,
      cached_tokens: sum.cached_tokens + row.cached_tokens,
      cache_creation_tokens: sum.cache_creation_tokens + row.cache_creation_tokens,
      fallbacks: sum.fallbacks + row.fallbacks,
    }),
    nothing,
  );
}

export interface Group {
  readonly shares: readonly Share[];
  /** Any share of the group: all have the same names. */
  readonly one: Share;
  readonly sum: Totals;
}

/** Groups shares by name. The group with the most calls comes first. */
export function groupsBy(shares: readonly Share[], nameOf: (share: Share) => string): readonly Group[] {
  const groups = new Map<string, Share[]>();
  for (const share of shares) {
    const name = nameOf(share);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [share]);
    else group.push(share);
  }
  return [...groups.values()]
    .flatMap((group) => (group[0] === undefined ? [] : [{ shares: group, one: group[0], sum: sumOf(group) }]))
    .toSorted((a, b) => b.sum.calls - a.sum.calls || b.sum.tokens - a.sum.tokens);
}

export function errorsOf(shares: readonly Share[]): number {
  return shares.reduce((sum, { status, calls }) => sum + (status === 'error' ? calls : 0), 0);
}

/** Errors by their class, the most frequent first. */
export function failuresOf(shares: readonly Share[]): { readonly failure: string; readonly count: number }[] {
  const failed = shares.filter(({ status }) => status === 'error');
  return groupsBy(failed, ({ failure }) => failure).map(({ one, sum }) => ({
    failure: one.failure,
    count: sum.calls,
  }));
}

/** Rounds to two decimals; 0 if `whole` is 0. */
export function percent(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.round((part / whole) * 10_000) / 100;
}

export function averageMs({ calls, response_time_ms: ms }: Totals): number {
  return calls === 0 ? 0 : Math.round((ms / calls) * 100) / 100;
}

/** Cache hits per hundred calls that reached a vendor. Above 100 if more answers came from the cache than from vendors. */
export function hitRate({ cache_hits: hits, vendor_calls: reached }: Totals): number {
  return percent(hits, Math.max(1, reached));
}
