import { z } from 'zod';
import type { Time } from '../../cluster/index.js';
import { PlatformError } from '../kernel/errors.js';
import {
  anyone,
  declare,
  list,
  listShape,
  named,
  type Operation,
  operator,
  operatorOrLocal,
  RawReply,
} from '../http/operations/index.js';
import { type ReadinessCheck, sharedReadiness } from '../infra/diagnostics/health.js';
import type { Metrics } from '../infra/diagnostics/metrics.js';
import type { ErrorRecords } from '../infra/diagnostics/error-records.js';
import { StoreError } from '../infra/storage/index.js';
import type { RecentErrors } from '../infra/diagnostics/recent-errors.js';
import {
  errorRecord,
  recentError,
  tenantErrorsOperation,
  type TenantErrorsParts,
} from './tenant-errors-operation.js';

export interface DiagnosticsParts {
  readonly time: Time;
  readonly checks: readonly ReadinessCheck[];
  /** True from the moment the node is told to stop. */
  readonly stopping: () => boolean;
  readonly metrics: Metrics;
  readonly recentErrors: RecentErrors;
  readonly errorRecords: Pick<ErrorRecords, 'list' | 'listOf'>;
  readonly ownAgents: TenantErrorsParts['ownAgents'];
}

export function diagnosticsOperations(parts: DiagnosticsParts): readonly Operation[] {
  const readiness = sharedReadiness(parts.time, parts.checks);
  return [
    declare({
      name: 'health.live',
      method: 'GET',
      path: '/health/live',
      title: 'The process runs',
      access: anyone(),
      rate: 'uncounted',
      output: z.object({ success: z.literal(true), status: z.literal('live') }),
      handle: () => ({ success: true, status: 'live' }) as const,
    }),
    declare({
      name: 'health.ready',
      method: 'GET',
      path: '/health/ready',
      title: 'The node can take requests',
      description: 'Checks every dependency of requests. A 503 lists those that fail.',
      access: anyone(),
      rate: 'uncounted',
      errors: ['service_unavailable'],
      output: z.object({
        success: z.literal(true),
        status: z.literal('ready'),
        checks: z.record(z.string(), z.string()),
      }),
      handle: () => ready(parts.stopping, readiness),
    }),
    declare({
      name: 'metrics.read',
      method: 'GET',
      path: '/metrics',
      title: 'Metrics in the Prometheus format',
      description:
        'For requests from this machine to `localhost` or a loopback address, or with the operator token. A request with forwarding headers never counts as coming from this machine.',
      access: operatorOrLocal(),
      rate: 'uncounted',
      contentType: 'text/plain',
      errors: ['invalid_token'],
      output: z.string(),
      handle: async () => new RawReply(parts.metrics.registry.contentType, await parts.metrics.text()),
    }),
    declare({
      name: 'errors.list',
      method: 'GET',
      path: '/api/errors',
      title: 'The last 100 errors of all nodes: code, fixed message, time',
      description: 'While the database is away, those of the node that answers.',
      access: anyone(),
      output: z.object({ success: z.literal(true), data: z.array(recentError), count: z.int() }),
      handle: async () => list(await publicErrors(parts)),
    }),
    declare({
      name: 'operator.errors',
      method: 'GET',
      path: '/api/v1/operator/errors',
      title: 'The last 1,000 errors of all nodes, with node, request id, tenant and operation',
      description: 'Newest first. A failed turn has its execution instead of a request id.',
      access: operator(),
      output: listShape(named('OperatorError', errorRecord.extend({ tenant: z.uuid().nullable() }))),
      handle: async () => list([...(await parts.errorRecords.list(operatorErrorsMax))]),
    }),
    tenantErrorsOperation(parts),
    declare({
      name: 'errors.metrics',
      method: 'GET',
      path: '/api/errors/metrics',
      title: 'Number of errors by code, and their share of the requests of the last hour',
      access: anyone(),
      output: z.object({
        success: z.literal(true),
        total_errors: z.int(),
        by_type: z.record(z.string(), z.int()),
        error_rate: z.number().min(0).max(1),
      }),
      handle: () => ({ success: true as const, ...parts.recentErrors.metrics() }),
    }),
  ];
}

const publicErrorsMax = 100;
const operatorErrorsMax = 1_000;

/** Nothing of a tenant: the code, its fixed message, the time. */
async function publicErrors({ errorRecords, recentErrors }: DiagnosticsParts) {
  try {
    const records = await errorRecords.list(publicErrorsMax);
    return records.map(({ id, error, message, timestamp }) => ({ id, error, message, timestamp }));
  } catch (error) {
    if (error instanceof StoreError && error.retryable) return [...recentErrors.list()];
    throw error;
  }
}

async function ready(stopping: () => boolean, readiness: ReturnType<typeof sharedReadiness>) {
  if (stopping()) {
    throw new PlatformError('service_unavailable', {
      message: 'The node is stopping.',
      details: { failing: ['node'], checks: { node: 'stopping' } },
      retryAfterSeconds: 5,
    });
  }
  const { ready: isReady, checks } = await readiness();
  if (isReady) return { success: true as const, status: 'ready' as const, checks: { ...checks } };
  const failing = Object.keys(checks).filter((name) => checks[name] !== 'ok');
  throw new PlatformError('service_unavailable', {
    message: `Not ready: ${failing.join(', ')}.`,
    details: { failing, checks },
    retryAfterSeconds: 1,
  });
}
