import { z } from 'zod';
import { named } from '../../http/operations/index.js';

const count = z.int().min(0);
const ms = z.number().min(0);
/** Two decimals; some percentages exceed 100. */
const percentage = z.number().min(0);
/** In dollars. */
const cost = z.number().min(0);
/** Estimated from the buckets of a histogram. */
const latency = named('LatencyPercentiles', z.object({ p50_ms: ms, p95_ms: ms, p99_ms: ms }));
const errors = z.array(z.object({ failure: z.string(), count }));
const agentId = z.uuid().nullable();

export const health = named(
  'TelemetryHealth',
  z.object({
    status: z.string(),
    version: z.string(),
    timestamp: z.iso.datetime(),
    endpoints: z.array(z.string()),
  }),
);

export const metrics = named(
  'TelemetryMetrics',
  z.object({
    totalRequests: count,
    totalTokens: count,
    cost,
    averageLatency: ms,
    latency,
    successRate: percentage,
    successCount: count,
    errorCount: count,
    errors,
    topModels: z.array(z.object({ model: z.string(), requests: count, tokens: count })),
    topAgents: z.array(z.object({ agent_id: z.uuid(), requests: count, tokens: count })),
  }),
);

export const turns = named(
  'TelemetryTurns',
  z.object({
    total: count,
    by_status: z.object({
      queued: count,
      running: count,
      waiting: count,
      completed: count,
      failed: count,
      timeout: count,
      cancelled: count,
      blocked: count,
    }),
    latency: z
      .object({ p50_ms: ms, p95_ms: ms })
      .describe('Of the turns that have ended; zeros without any.'),
  }),
);

export const logEntry = named(
  'TelemetryLogEntry',
  z.object({
    id: z.uuid(),
    user_id: z.uuid().nullable(),
    agent_id: agentId,
    session_id: z.uuid().nullable(),
    execution_id: z.uuid().nullable().describe('The turn that called; null for a direct call.'),
    provider: z.string(),
    model: z.string(),
    first_model: z
      .string()
      .describe('The model that was asked first; another one answered if `model` differs.'),
    status: z.enum(['success', 'error']),
    failure: z.string().nullable().describe('Why no complete answer came.'),
    input_tokens: count,
    output_tokens: count,
    total_tokens: count,
    cached_tokens: count.describe('Of the input: read from a cache of the vendor.'),
    cache_creation_tokens: count.describe('Of the input: written to a cache of the vendor.'),
    cost,
    response_time_ms: ms,
    timestamp: z.iso.datetime({ offset: true }),
    call_source: z.string(),
    metadata: z.object({ source: z.string(), input_preview: z.string(), output_preview: z.string() }),
  }),
);

export const logPage = z.object({
  success: z.literal(true),
  data: z.array(logEntry),
  total: count,
  pagination: z.object({ page: count, limit: count, pages: count }),
});

export const hourUse = named(
  'TelemetryHour',
  z.object({
    hour: z.string().regex(/^\d{4}-\d\d-\d\d \d\d:00$/),
    requests: count,
    tokens: count,
    cost,
  }),
);

export const session = named(
  'TelemetrySession',
  z.object({
    session_id: z.uuid(),
    agent_id: agentId,
    first_interaction: z.iso.datetime(),
    last_interaction: z.iso.datetime(),
    total_calls: count,
    total_tokens: count,
    cost,
    total_latency_ms: ms,
    errors: count,
    avg_latency_ms: ms,
    duration_ms: ms,
  }),
);

export const sessionPage = z.object({ success: z.literal(true), data: z.array(session), total: count });

export const dashboard = named(
  'TelemetryDashboard',
  z.object({
    summary: z.object({
      period_days: count,
      total_calls: count,
      total_tokens: count,
      cost,
      avg_latency_ms: ms,
      success_rate_pct: percentage,
    }),
    latency,
    errors,
    cache: z.object({ calls_with_cache: count, cache_hit_rate_pct: percentage, total_cached_tokens: count }),
    fallback: z.object({ total_errors: count, total_fallbacks: count, fallback_rate_pct: percentage }),
    top_models: z.array(
      z.object({ model: z.string(), provider: z.string(), calls: count, avg_latency_ms: ms }),
    ),
    by_provider: z.array(z.object({ provider: z.string(), calls: count })),
    hourly_usage: z.array(z.object({ hour: z.iso.datetime(), calls: count, tokens: count, cost })),
    by_call_source: z.array(z.object({ call_source: z.string(), calls: count, avg_latency_ms: ms })),
  }),
);

export const cache = named(
  'TelemetryCache',
  z.object({
    summary: z.object({
      total_calls: count,
      calls_with_cache_hit: count,
      total_cached_tokens: count,
      total_cache_creation_tokens: count,
      cache_hit_rate_pct: percentage,
    }),
    by_day: z.array(z.object({ day: z.iso.date(), cache_hits: count, cached_tokens: count })),
    by_model: z.array(
      z.object({
        model: z.string(),
        provider: z.string(),
        total_calls: count,
        cache_hits: count,
        cached_tokens: count,
      }),
    ),
  }),
);

export const callSource = named(
  'TelemetryCallSource',
  z.object({
    call_source: z.string(),
    total_calls: count,
    total_tokens: count,
    cost,
    avg_latency_ms: ms,
    success_rate_pct: percentage,
  }),
);

const edge = z.object({ source: z.string(), target: z.string(), count });

export const loopgraph = named(
  'TelemetryLoopgraph',
  z.object({
    summary: z.object({
      total_executions: count,
      avg_latency_ms: ms,
      total_tokens: count,
      unique_sessions: count,
    }),
    nodes: z.array(
      z.object({
        node: z.string(),
        executions: count,
        total_tokens: count,
        avg_latency_ms: ms,
        error_rate_pct: percentage,
      }),
    ),
    edges: z.array(edge),
  }),
);

export const graph = named(
  'TelemetryGraph',
  z.object({
    nodes: z.array(
      z.object({
        id: z.string(),
        type: z.enum(['trigger', 'agent', 'model', 'tool']),
        label: z.string(),
        executions: count,
      }),
    ),
    edges: z.array(edge),
    summary: z.object({ total_executions: count, unique_nodes: count, unique_edges: count }),
  }),
);
