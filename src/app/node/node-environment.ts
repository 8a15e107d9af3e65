import type { ClusterConfig, ProcessId, Time } from '../../../cluster/index.js';
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
  /** How long a model call waits for another node's answer to the same call before it asks the vendor itself. */
  readonly answerTurnMsMax: number;
}

/** Values and functions that any part of the node may use. */
export interface NodeEnvironment {
  readonly settings: Settings;
  /** The id of this process in its cluster, new at each start. */
  readonly process: ProcessId;
  /** The name under which this process claims rows and opens them in the ledger. */
  readonly processName: string;
  readonly log: Log;
  /** To be called when this process has lost its lease. */
  readonly lose: () => void;
  /** To be called when the operator drains this node; undefined if the program cannot end itself. */
  readonly onLeaveAsked: (() => void) | undefined;
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

/** Whether the cluster knows of this process: only processes with slots hold a lease for good. */
export function isMember({ redisUrl, nodeRoles }: Pick<Settings, 'redisUrl' | 'nodeRoles'>): boolean {
  return redisUrl !== undefined && nodeRoles.includes('worker');
}
