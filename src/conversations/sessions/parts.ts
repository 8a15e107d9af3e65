import type { DurableActivation, Reference, Slot, Time } from '../../../cluster/index.js';
import type { SessionServiceDefinition } from '../../../generated/troupe/actors/v1/session.js';
import type { AgentsSubject } from '../../agents/index.js';
import type { TenantLimits } from '../../kernel/caller.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { Turns } from '../turns/index.js';
import type { MessageRow, SessionLoaded, SessionWrite, SessionWritten } from './rows.js';

export type SessionService = typeof SessionServiceDefinition;
export type SessionActivation = DurableActivation<SessionLoaded, SessionWrite, SessionWritten>;

/** What the session actor needs of the platform around it. */
export interface SessionActorParts {
  readonly turns: Pick<Turns, 'run' | 'summarise'>;
  readonly agents: Pick<AgentsSubject, 'runnableAgent' | 'agentVersion'>;
  readonly tenantAtWork: (tenantId: string) => Tenant | undefined | Promise<Tenant | undefined>;
  /** Whether the tenant serves this person no more. */
  readonly isDenied: (scope: TenantScope, consumerKey: string) => boolean | Promise<boolean>;
  /** What agents remember of this person over all sessions. */
  readonly factsOf: (scope: TenantScope, consumerKey: string) => Promise<readonly string[]>;
  /** How this person is called in other sessions. */
  readonly nameOf: (scope: TenantScope, consumerKey: string) => Promise<string | undefined>;
  /** Values for tools are stored sealed, and only until the turn has ended. */
  readonly seal: (text: string, executionId: string) => string;
  readonly unseal: (sealed: string, executionId: string) => string;
  /** Messages before the ones that the actor holds, for agents that remember far back. */
  readonly olderMessages: (
    scope: TenantScope,
    sessionId: string,
    before: number,
    limit: number,
  ) => Promise<readonly MessageRow[]>;
  readonly self: (tenantId: string, sessionId: string) => Reference<SessionService>;
  /** A mode of control ends by itself: its time is watched from now on. */
  readonly armExpiry: (expiry: {
    readonly tenantId: string;
    readonly sessionId: string;
    readonly slot: Slot;
    readonly dueInMs: number;
  }) => void;
  readonly time: Time;
  readonly newId: () => string;
  readonly report: (attempted: string, error: unknown) => void;
}

export interface Tenant {
  readonly scope: TenantScope;
  readonly limits: TenantLimits;
}
