import type { ByteBudget } from '../../kernel/byte-budget.js';
import type { Connections } from './connections.js';

/** The metrics of the HTTP server, in the Prometheus text format. */
export function edgeMeasures(edge: {
  readonly connections: Connections;
  readonly bodyBudget: ByteBudget;
}): string {
  return [
    ...measure('troupe_http_connections', 'gauge', 'Open connections', edge.connections.size),
    ...measure(
      'troupe_http_connections_refused_total',
      'counter',
      'Connections closed at once because their address or the node had too many',
      edge.connections.refused,
    ),
    ...measure(
      'troupe_http_body_bytes',
      'gauge',
      'Bytes of request bodies currently held',
      edge.bodyBudget.bytes,
    ),
  ].join('\n');
}

function measure(name: string, type: string, help: string, value: number): readonly string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, `${name} ${value}`];
}
