import type {
  BusyStamp,
  ClusterError,
  DurableActivation,
  Reference,
  Slot,
  Time,
} from '../../../cluster/index.js';
import type { SessionServiceDefinition } from '../../../generated/troupe/actors/v1/session.js';
import type { AgentsSubject } from '../../agents/index.js';
import type { Attachments } from '../attachments/index.js';
import type { TenantLimits } from '../../kernel/caller.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { Turns } from '../turns/index.js';
import type { TurnsAtWork } from './turns-at-work.js';
import type { ExecutionRow, MessageRow, SessionLoaded, SessionWrite, SessionWritten } from './rows.js';

export type SessionService = typeof SessionServiceDefinition;
/** As the runtime gives it. */
export type PlainActivation = DurableActivation<SessionLoaded, SessionWrite, SessionWritten>;

/** Called before the activation ends because the store refused a write for good. */
export type IfRefused = (activation: PlainActivation, error: ClusterError) => Promise<void>;

export interface SessionActivation extends PlainActivation {
  write(
    write: SessionWrite,
    options?: { readonly stamp?: BusyStamp; readonly ifRefused?: IfRefused },
  ): ReturnType<PlainActivation['write']>;
  /**
   * Like `write`, for a write that may repeat one of an earlier activation. If the store lost the result, the
   * activation ends and the promise rejects with `outcome_unknown`.
   */
  writeKnown(...given: Parameters<SessionActivation['write']>): Promise<SessionWritten>;
}

/** The dependencies of the session actor. */
export interface SessionActorParts {
  readonly turns: Pick<Turns, 'run' | 'summarise'>;
  readonly agents: Pick<AgentsSubject, 'runnableAgent' | 'agentVersion'>;
  readonly tenantAtWork: (tenantId: string) => Tenant | undefined | Promise<Tenant | undefined>;
  /** Whether the tenant denies this consumer. */
  readonly isDenied: (scope: TenantScope, consumerKey: string) => boolean | Promise<boolean>;
  /** The facts that agents remember of this consumer, across all sessions. */
  readonly factsOf: (scope: TenantScope, consumerKey: string) => Promise<readonly string[]>;
  /** The consumer's display name in other sessions. */
  readonly nameOf: (scope: TenantScope, consumerKey: string) => Promise<string | undefined>;
  /** Values for tools are stored sealed, and only until the turn has ended. */
  readonly seal: (text: string, executionId: string) => string;
  readonly unseal: (sealed: string, executionId: string) => string;
  /** The first of the others who write in a session with this person. */
  readonly otherParticipant: (
    scope: TenantScope,
    sessionId: string,
    consumerKey: string,
  ) => Promise<string | undefined>;
  /** Messages before those that the actor holds, for agents with a long memory; of long ones fewer than `limit`. */
  readonly olderMessages: (
    scope: TenantScope,
    sessionId: string,
    before: number,
    limit: number,
  ) => Promise<readonly MessageRow[]>;
  /** What is attached to messages, by id, in the form that models take. */
  readonly attachmentContents: Attachments['contents'];
  readonly self: (tenantId: string, sessionId: string) => Reference<SessionService>;
  /** Arms the timer that ends a control mode with a time limit. */
  readonly armExpiry: (expiry: {
    readonly tenantId: string;
    readonly sessionId: string;
    readonly slot: Slot;
    readonly dueInMs: number;
  }) => void;
  readonly atWork: TurnsAtWork;
  /** Called once the begin of a turn is stored; `again`: after a process was lost, or a wait for an approval. */
  readonly onTurnBegun: (row: ExecutionRow, begin: 'first' | 'again') => void;
  /** Called once the end of a turn is stored. */
  readonly onTurnEnded: (row: ExecutionRow) => void;
  readonly time: Time;
  readonly newId: () => string;
  readonly report: (attempted: string, error: unknown) => void;
}

export interface FailedTurn {
  readonly tenantId: string;
  readonly executionId: string;
  readonly agentId: string;
  readonly triggerId: string | null;
  readonly code: string;
}

export interface Tenant {
  readonly scope: TenantScope;
  readonly limits: TenantLimits;
  /** The operator lets none of its turns run. */
  readonly suspended: boolean;
}
