/** Turns sums into the replies of the endpoints. */
import type { TurnSums } from './turns.store.js';
import type { z } from 'zod';
import type { LogRow, SessionRow } from './log.store.js';
import type { Graph } from './graph.js';
import type { Edge, LoopNode } from './paths.store.js';
import { latencyOf } from './latency.js';
import { dayMs, hoursOf, type Range } from './range.js';
import type { DaySums, HourSums } from './totals.store.js';
import type * as shapes from './shapes.js';
import { averageMs, errorsOf, failuresOf, groupsBy, hitRate, percent, type Share, sumOf } from './totals.js';

const topMax = 10;
/** Over longer ranges only hours with calls are listed. */
const filledDaysMax = 400;

type Shape<Key extends keyof typeof shapes> = z.input<(typeof shapes)[Key]>;

export function metricsOf(shares: readonly Share[]): Shape<'metrics'> {
  const sum = sumOf(shares);
  const errors = errorsOf(shares);
  const ofAgents = shares.filter(({ agent_id: agent }) => agent !== null);
  return {
    totalRequests: sum.calls,
    totalTokens: sum.tokens,
    cost: sum.cost,
    averageLatency: averageMs(sum),
    latency: latencyOf(sum.latency),
    successRate: percent(sum.calls - errors, sum.calls),
    successCount: sum.calls - errors,
    errorCount: errors,
    errors: failuresOf(shares),
    topModels: groupsBy(shares, ({ model }) => model)
      .slice(0, topMax)
      .map(({ one, sum: { calls, tokens } }) => ({ model: one.model, requests: calls, tokens })),
    topAgents: groupsBy(ofAgents, ({ agent_id: agent }) => agent ?? '')
      .slice(0, topMax)
      .map(({ one, sum: { calls, tokens } }) => ({
        agent_id: one.agent_id ?? '',
        requests: calls,
        tokens,
      })),
  };
}

export function turnsOf({ byStatus, p50Ms, p95Ms }: TurnSums): Shape<'turns'> {
  const count = (status: string): number => byStatus[status] ?? 0;
  return {
    total: Object.values(byStatus).reduce((sum, turns) => sum + turns, 0),
    by_status: {
      queued: count('queued'),
      running: count('running'),
      waiting: count('waiting'),
      completed: count('completed'),
      failed: count('failed'),
      timeout: count('timeout'),
      cancelled: count('cancelled'),
      blocked: count('blocked'),
    },
    latency: { p50_ms: p50Ms, p95_ms: p95Ms },
  };
}

export function dashboardOf(
  shares: readonly Share[],
  hours: readonly HourSums[],
  range: Range,
): Shape<'dashboard'> {
  const sum = sumOf(shares);
  const errors = errorsOf(shares);
  const days = (range.to.getTime() - range.from.getTime() - 1) / dayMs;
  const isLong = days > filledDaysMax;
  const find = byHour(hours);
  return {
    summary: {
      period_days: Math.max(1, Math.round(days)),
      total_calls: sum.calls,
      total_tokens: sum.tokens,
      cost: sum.cost,
      avg_latency_ms: averageMs(sum),
      success_rate_pct: percent(sum.calls - errors, sum.calls),
    },
    latency: latencyOf(sum.latency),
    errors: failuresOf(shares),
    cache: {
      calls_with_cache: sum.cache_hits,
      cache_hit_rate_pct: hitRate(sum),
      total_cached_tokens: sum.cached_tokens,
    },
    fallback: {
      total_errors: errors,
      total_fallbacks: sum.fallbacks,
      fallback_rate_pct: percent(sum.fallbacks, sum.calls),
    },
    top_models: groupsBy(shares, ({ model }) => model)
      .slice(0, topMax)
      .map(({ one, sum: group }) => ({
        model: one.model,
        provider: one.provider,
        calls: group.calls,
        avg_latency_ms: averageMs(group),
      })),
    by_provider: groupsBy(shares, ({ provider }) => provider).map(({ one, sum: { calls } }) => ({
      provider: one.provider,
      calls,
    })),
    hourly_usage: (isLong ? hours.map(({ hour }) => hour) : hoursOf(range)).map((hour) => {
      const { calls, tokens, cost } = find(hour);
      return { hour: hour.toISOString(), calls, tokens, cost };
    }),
    by_call_source: groupsBy(shares, ({ call_source: source }) => source).map(({ one, sum: group }) => ({
      call_source: one.call_source,
      calls: group.calls,
      avg_latency_ms: averageMs(group),
    })),
  };
}

export function hoursReport(hours: readonly HourSums[], range: Range): Shape<'hourUse'>[] {
  const find = byHour(hours);
  return hoursOf(range).map((hour) => {
    const { calls, tokens, cost } = find(hour);
    const name = `${hour.toISOString().slice(0, 13).replace('T', ' ')}:00`;
    return { hour: name, requests: calls, tokens, cost };
  });
}

/** Finds the sums of an hour; zeros for an hour without calls. */
function byHour(hours: readonly HourSums[]): (hour: Date) => Omit<HourSums, 'hour'> {
  const found = new Map(hours.map((each) => [each.hour.getTime(), each]));
  return (hour) => found.get(hour.getTime()) ?? { calls: 0, tokens: 0, cost: 0 };
}

export function cacheOf(shares: readonly Share[], days: readonly DaySums[]): Shape<'cache'> {
  const sum = sumOf(shares);
  return {
    summary: {
      total_calls: sum.calls,
      calls_with_cache_hit: sum.cache_hits,
      total_cached_tokens: sum.cached_tokens,
      total_cache_creation_tokens: sum.cache_creation_tokens,
      cache_hit_rate_pct: hitRate(sum),
    },
    by_day: days.map(({ day, cache_hits, cached_tokens }) => ({ day, cache_hits, cached_tokens })),
    by_model: groupsBy(shares, ({ model }) => model).map(({ one, sum: group }) => ({
      model: one.model,
      provider: one.provider,
      total_calls: group.calls,
      cache_hits: group.cache_hits,
      cached_tokens: group.cached_tokens,
    })),
  };
}

export function callSourcesOf(shares: readonly Share[]): Shape<'callSource'>[] {
  return groupsBy(shares, ({ call_source: source }) => source).map(({ one, shares: group, sum }) => ({
    call_source: one.call_source,
    total_calls: sum.calls,
    total_tokens: sum.tokens,
    cost: sum.cost,
    avg_latency_ms: averageMs(sum),
    success_rate_pct: percent(sum.calls - errorsOf(group), sum.calls),
  }));
}

export function entryOf(row: LogRow): Shape<'logEntry'> {
  return {
    id: row.call_id,
    user_id: row.user_id,
    agent_id: row.agent_id,
    session_id: row.session_id,
    execution_id: row.execution_id,
    provider: row.provider,
    model: row.model,
    first_model: row.first_model,
    status: row.status,
    failure: row.failure,
    input_tokens: row.input_tokens,
    output_tokens: row.output_tokens,
    total_tokens: row.input_tokens + row.output_tokens,
    cached_tokens: row.cached_tokens,
    cache_creation_tokens: row.cache_creation_tokens,
    cost: row.cost,
    response_time_ms: row.response_time_ms,
    timestamp: row.started_at.toISOString().replace('Z', '+00:00'),
    call_source: row.call_source,
    metadata: {
      source: row.from_cache ? 'response_cache' : 'provider',
      input_preview: row.input_preview,
      output_preview: row.output_preview,
    },
  };
}

export function sessionOf(row: SessionRow): Shape<'session'> {
  const { first_interaction: first, last_interaction: last, total_calls, total_latency_ms } = row;
  return {
    ...row,
    first_interaction: first.toISOString(),
    last_interaction: last.toISOString(),
    avg_latency_ms: Math.round((total_latency_ms / Math.max(1, total_calls)) * 100) / 100,
    duration_ms: last.getTime() - first.getTime(),
  };
}

export function loopgraphOf(
  nodes: readonly LoopNode[],
  edges: readonly Edge[],
  sessions: number,
): Shape<'loopgraph'> {
  const sum = (of: (node: LoopNode) => number): number => nodes.reduce((all, node) => all + of(node), 0);
  const average = (totalMs: number, count: number): number =>
    count === 0 ? 0 : Math.round((totalMs / count) * 100) / 100;
  const executions = sum((node) => node.executions);
  return {
    summary: {
      total_executions: executions,
      avg_latency_ms: average(
        sum((node) => node.latency_ms),
        executions,
      ),
      total_tokens: sum((node) => node.total_tokens),
      unique_sessions: sessions,
    },
    nodes: nodes.map(({ node, executions: count, total_tokens, latency_ms, errors }) => ({
      node,
      executions: count,
      total_tokens,
      avg_latency_ms: average(latency_ms, count),
      error_rate_pct: percent(errors, count),
    })),
    edges: [...edges],
  };
}

export function graphOf({ nodes, edges, turns }: Graph): Shape<'graph'> {
  return {
    nodes: [...nodes],
    edges: [...edges],
    summary: { total_executions: turns, unique_nodes: nodes.length, unique_edges: edges.length },
  };
}
