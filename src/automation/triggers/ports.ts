import type { TenantLimits } from '../../kernel/caller.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { Author } from '../../conversations/invocation/index.js';
import type { PlatformError } from '../../kernel/errors.js';
import type { MappedContext } from './mapped-context.js';

/** What triggers need of sessions and consumers, in their own words. The composition adapts whoever has it. */

/** Somebody of the tenant who runs a trigger by hand. */
export interface InvokedBy {
  readonly author: Author;
  /** Whether they continue only sessions that they began; a payload can name anybody's. */
  readonly ownSessionsOnly: boolean;
}

/** A turn that a trigger wants. The id is fixed before the first attempt: the same order twice is one turn. */
export interface TurnOrder {
  readonly scope: TenantScope;
  readonly limits: TenantLimits;
  readonly executionId: string;
  readonly agentId: string;
  readonly sessionId: string;
  readonly triggerId: string;
  readonly message: string;
  readonly context: MappedContext;
  readonly consumerKey: string | undefined;
  /** As the channel tells it: it fills a contact that has no name. */
  readonly consumerDisplayName: string | undefined;
  readonly channel: string;
  readonly userId: string | undefined;
  readonly keyId: string | undefined;
  readonly invokedBy: InvokedBy | undefined;
  readonly deadlineMs: number;
  readonly requestId: string;
  /** Whether its sender was counted as the tenant's model work; what nobody sent is counted when it begins. */
  readonly isCounted: boolean;
  /** Whether it may have been handed in before. */
  readonly isRepeat: boolean;
}

export type TurnOutcomeName = 'COMPLETED' | 'TIMEOUT' | 'CANCELLED' | 'FAILED' | 'BLOCKED' | 'SUSPENDED';

export interface TurnOutcome {
  readonly outcome: TurnOutcomeName;
  readonly content: string;
  readonly totalTokens: number;
  readonly latencyMs: number;
  readonly error: { readonly code: string; readonly message: string } | undefined;
}

export interface TurnPort {
  /** Resolves with the outcome of the turn, also of one that ran before; rejects with what kept it from being taken. */
  runTurn(order: TurnOrder): Promise<TurnOutcome>;
  /** Of a turn that has ended. */
  outcomeOf(order: Pick<TurnOrder, 'scope' | 'executionId'>): Promise<TurnOutcome | undefined>;
  /** The refusal of a turn for want of tokens; undefined where the agent's model is paid for by the tenant itself. */
  tokenRefusal(
    tenant: Pick<TurnOrder, 'scope' | 'limits'>,
    agentId: string,
  ): Promise<PlatformError | undefined>;
}

export interface ConsumerPort {
  /** Whether the tenant serves this person no more. */
  isDenied(scope: TenantScope, consumerKey: string): boolean | Promise<boolean>;
}
