import type { ClusterConfig, Time } from '../../../cluster/index.js';
import type { Ids, SecureRandom } from '../../kernel/chance.js';
import { type Settings } from '../../kernel/config/index.js';
import { type Log } from '../../infra/diagnostics/index.js';
import type { LookUpRecords } from '../../infra/egress/index.js';

export type Close = (signal: AbortSignal) => Promise<void> | void;
export type AtEnd = (close: Close) => void;

/** The tuning of a node that is no setting of the operator. */
export interface NodeLimits {
  /** Above this lag of the event loop requests are refused; infinite in a process that also does other work. */
  readonly lagMsMax: number;
  /** How long optional reads from Redis may wait for an answer. */
  readonly sharedAnswerMsMax: number;
}

/** Values and functions that any part of the node may use. */
export interface NodeEnvironment {
  readonly settings: Settings;
  readonly nodeId: string;
  readonly log: Log;
  /** To be called when this process has lost its lease. */
  readonly lose: () => void;
  readonly time: Time;
  readonly ids: Ids;
  readonly random: SecureRandom;
  readonly limits: NodeLimits;
  readonly cluster: Partial<ClusterConfig>;
  readonly dataDir: string;
  /** Answers DNS queries; default: the machine's name servers. */
  readonly lookUp: LookUpRecords | undefined;
  /** Empty until the node listens. */
  readonly publicUrl: () => string;
  readonly atEnd: AtEnd;
}
