// Sends traces, metrics and logs to the operator's OTLP receiver, if the standard variables name one.
import { type Time, within } from '../../../cluster/index.js';
import type { Settings } from '../../kernel/config/index.js';
import type { Log } from '../diagnostics/index.js';
import { exportPlan } from './export-plan.js';

export interface TelemetryParts {
  readonly settings: Settings;
  readonly nodeId: string;
  readonly version: string;
  readonly log: Pick<Log, 'logger' | 'follow'>;
  readonly time: Time;
  /** The metrics in the Prometheus format. */
  readonly metrics: () => Promise<string>;
}

export interface Telemetry {
  /** Sends what is queued, for a bounded time. */
  stop(): Promise<void>;
}

/** A receiver that is away must not hold the stop of a node, which its orchestrator ends after 30 seconds. */
const stopMsMax = 3_000;

/** Call it before anything that records spans is created. Without a receiver nothing of the SDK is loaded. */
export async function startTelemetry(parts: TelemetryParts): Promise<Telemetry | undefined> {
  const { settings, nodeId, version, log, time, metrics } = parts;
  const plans = exportPlan(settings);
  if (plans.length === 0) return undefined;
  const { startExports } = await import('./sdk.js');
  const abandoning = new AbortController();
  const ends = startExports(plans, {
    abandoned: abandoning.signal,
    settings,
    nodeId,
    version,
    metrics,
    followLog: (sink) => log.follow(sink),
    onState: ({ signal, url }, error) => {
      const receiver = new URL(url).host;
      if (error === undefined)
        log.logger.info({ receiver }, `${signal} are taken by the OTLP receiver again`);
      else
        log.logger.warn(
          { receiver, error },
          `${signal} are not taken by the OTLP receiver; they are lost until it is back`,
        );
    },
  });
  return {
    async stop() {
      const stopped = Promise.allSettled(ends.map((end) => end())).then(() => undefined);
      await within(time, stopMsMax, stopped, () => undefined);
      abandoning.abort();
    },
  };
}
