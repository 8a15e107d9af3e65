import type { ClusterConfig, Time } from '../../../cluster/index.js';
import { type Settings } from '../../kernel/config/index.js';
import { type Log } from '../../infra/diagnostics/index.js';
import type { LookUpRecords } from '../../infra/egress/index.js';

export type Close = (signal: AbortSignal) => Promise<void> | void;
export type AtEnd = (close: Close) => void;

/** What every part may need. */
export interface NodeEnvironment {
  readonly settings: Settings;
  readonly nodeId: string;
  readonly log: Log;
  /** The node lost its place among the others. */
  readonly lose: () => void;
  readonly time: Time;
  readonly sheds: boolean;
  readonly sharedAnswerMsMax: number | undefined;
  readonly cluster: Partial<ClusterConfig>;
  readonly dataDir: string;
  /** Who is asked for DNS records; the machine's name servers when left out. */
  readonly lookUp: LookUpRecords | undefined;
  /** Empty until the node listens. */
  readonly publicUrl: () => string;
  /** Hears of failures that no request waits for. */
  readonly report: (attempted: string, error: unknown) => void;
  readonly note: (what: string, facts: Readonly<Record<string, unknown>>) => void;
  readonly atEnd: AtEnd;
}
