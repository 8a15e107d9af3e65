import type { ClusterConfig, Time } from '../../../cluster/index.js';
import { type Settings } from '../../kernel/config/index.js';
import { type Log } from '../../infra/diagnostics/index.js';
import type { LookUpRecords } from '../../infra/egress/index.js';

export type Close = (signal: AbortSignal) => Promise<void> | void;
export type AtEnd = (close: Close) => void;

/** Values and functions that any part of the node may use. */
export interface NodeEnvironment {
  readonly settings: Settings;
  readonly nodeId: string;
  readonly log: Log;
  /** To be called when this process has lost its lease. */
  readonly lose: () => void;
  readonly time: Time;
  readonly shedsLoad: boolean;
  readonly sharedAnswerMsMax: number | undefined;
  readonly cluster: Partial<ClusterConfig>;
  readonly dataDir: string;
  /** Answers DNS queries; default: the machine's name servers. */
  readonly lookUp: LookUpRecords | undefined;
  /** Empty until the node listens. */
  readonly publicUrl: () => string;
  /** Logs failures that happen outside any request. */
  readonly report: (attempted: string, error: unknown) => void;
  readonly note: (what: string, facts: Readonly<Record<string, unknown>>) => void;
  readonly atEnd: AtEnd;
}
