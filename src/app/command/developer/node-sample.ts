import type { Client } from '#client';

/** What one node says of itself at one moment; totals since its start. */
export interface NodeSample {
  readonly url: string;
  readonly process: string;
  readonly latenessMs: number;
  readonly requests: number;
  readonly turns: number;
  readonly shed: number;
  /** All nodes, as this one sees them. */
  readonly cluster: Awaited<ReturnType<Client['cluster']['read']>>['data'];
}

/** The next look follows soon. */
export const lookLimits = { retries: 0, timeoutMs: 5_000 } as const;

/** The operations that begin turns. */
const turnOperations: ReadonlySet<string> = new Set(['agents.stream', 'triggers.webhook', 'triggers.invoke']);

export async function sampleOf(client: Client, url: string, signal: AbortSignal): Promise<NodeSample> {
  const options = { signal, ...lookLimits };
  const [{ data: cluster }, metrics] = await Promise.all([
    client.cluster.read({}, options),
    client.metrics.read({}, options).then((response) => response.text()),
  ]);
  const series = [...seriesOf(metrics)];
  const total = (name: string, counts: (labels: string) => boolean = () => true): number =>
    series.reduce((sum, one) => (one.name === name && counts(one.labels) ? sum + one.value : sum), 0);
  const operationOf = (labels: string): string => /operation="([^"]*)"/.exec(labels)?.[1] ?? '';
  const requests = 'troupe_http_request_duration_seconds_count';
  return {
    url,
    process: cluster.process,
    latenessMs: total('troupe_event_loop_lateness_ms'),
    requests: total(requests),
    turns: total(requests, (labels) => turnOperations.has(operationOf(labels))),
    shed: total('troupe_http_requests_shed_total'),
    cluster,
  };
}

interface Series {
  readonly name: string;
  readonly labels: string;
  readonly value: number;
}

/** Lines of Prometheus' text format. */
function* seriesOf(text: string): Generator<Series> {
  for (const [, name = '', labels = '', value] of text.matchAll(/^([a-z_]+)(?:\{(.*)\})? (\S+)$/gm))
    yield { name, labels, value: Number(value) };
}
