import type { Time } from '../../../cluster/index.js';
import type { Caller } from '../../kernel/caller.js';
import type { ErrorRecords, Log, Metrics, RecentErrors } from '../../infra/diagnostics/index.js';
import type { RequestReport } from './pipeline.js';

/** Reports each finished request to the log, the metrics and the errors endpoint. */
export function createRequestReporter(parts: {
  readonly log: Log;
  /** The clock that the requests were started with. */
  readonly time: Pick<Time, 'monotonicMs'>;
  readonly metrics: Metrics;
  readonly recentErrors: RecentErrors;
  /** The errors of all nodes; without it, this node alone has them. */
  readonly errorRecords?: Pick<ErrorRecords, 'note'> | undefined;
}): (report: RequestReport) => void {
  const { log, time, metrics, recentErrors, errorRecords } = parts;
  return ({ operation, exchange, caller, errorCode, spelledCode, failure }) => {
    const milliseconds = time.monotonicMs() - exchange.head.startedAt;
    const { requestId } = exchange.head;
    metrics.requests.observe(operation, exchange.status, milliseconds / 1000);
    if (errorCode === 'client_closed') recentErrors.count();
    else {
      const error = recentErrors.count(errorCode, spelledCode);
      if (error !== undefined)
        errorRecords?.note({
          ...error,
          requestId,
          operation,
          tenant: tenantOf(caller),
          agentId: agentOf(exchange.head.path),
        });
    }
    log.requestLine({
      requestId,
      operation,
      status: exchange.status,
      milliseconds,
      errorCode,
      who: callerFields(caller),
    });
    if (failure !== undefined)
      log.logger.error({ request_id: requestId, operation, error: failure }, 'request failed');
  };
}

const agentPath =
  /^\/api\/(?:v\d\/)?agents\/([\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12})(?:\/|$)/i;

/** The agent that the path names, whoever it belongs to: readers show it only to its tenant. */
function agentOf(path: string): string | null {
  return agentPath.exec(path)?.[1] ?? null;
}

function tenantOf(caller: Caller | undefined): string | undefined {
  return caller !== undefined && 'scope' in caller ? caller.scope.tenantId : undefined;
}

/** Fields of the request's log line. The ids are UUIDs that the platform issued. */
function callerFields(caller: Caller | undefined): string {
  switch (caller?.kind) {
    case 'key':
    case 'visitor':
      return `,"tenant":"${caller.scope.tenantId}","key":"${caller.keyId}"`;
    case 'tenant-user':
      return `,"tenant":"${caller.scope.tenantId}","user":"${caller.userId}"`;
    case 'user':
      return `,"user":"${caller.userId}"`;
    case 'operator':
      return ',"operator":true';
    default:
      return '';
  }
}
