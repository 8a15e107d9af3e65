import type { TenantLimits } from '../../kernel/caller.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { AttachmentRef } from '../../conversations/attachments/index.js';
import type { GivenPart } from '../../models/parts/index.js';
import type { Author } from '../../conversations/invocation/index.js';
import type { PlatformError } from '../../kernel/errors.js';
import type { MappedContext } from './mapped-context.js';

/** The ports through which triggers use sessions and consumers. */

/** The member of the tenant who runs a trigger by hand. */
export interface InvokedBy {
  readonly author: Author;
  /** Whether they may continue only sessions that they started; a payload can name any session. */
  readonly ownSessionsOnly: boolean;
}

/** A turn to run for a trigger. The id is fixed before the first attempt: the same order twice is one turn. */
export interface TurnOrder {
  readonly scope: TenantScope;
  readonly limits: TenantLimits;
  readonly executionId: string;
  readonly agentId: string;
  readonly sessionId: string;
  readonly triggerId: string;
  readonly message: string;
  /** Stored before, with `keepAttachments`. */
  readonly attachments: readonly AttachmentRef[];
  readonly context: MappedContext;
  readonly consumerKey: string | undefined;
  /** Whether several people may write in the session. */
  readonly sharesSession: boolean;
  /** The other senders of a message that was joined from several. */
  readonly otherConsumers: readonly string[];
  /** The name that the channel reports; it fills a contact without a name. */
  readonly consumerDisplayName: string | undefined;
  readonly channel: string;
  readonly userId: string | undefined;
  readonly keyId: string | undefined;
  readonly invokedBy: InvokedBy | undefined;
  readonly deadlineMs: number;
  readonly requestId: string;
  /** The span that the turn belongs to. */
  readonly traceparent?: string | undefined;
  /**
   * Whether the message was counted as the tenant's model work on arrival; other messages are counted when the turn
   * starts.
   */
  readonly isCounted: boolean;
  /** Whether the order may have been submitted before. */
  readonly isRepeat: boolean;
  /** Its message was accepted more than an hour ago. */
  readonly isOld: boolean;
  /** Called, once or more, when its session has the turn for certain. */
  readonly onTaken?: (() => void) | undefined;
}

/** Images and files of a message that is about to be accepted. */
export interface AttachmentOrder extends Pick<
  TurnOrder,
  'scope' | 'limits' | 'agentId' | 'sessionId' | 'keyId'
> {
  readonly given: readonly GivenPart[];
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
  /**
   * Resolves to the outcome of the turn, also if it ran before; rejects with the reason why the turn was not accepted.
   */
  runTurn(order: TurnOrder): Promise<TurnOutcome>;
  /** Reads and stores them; rejects if they cannot be used, or the agent's model does not take them. */
  keepAttachments(order: AttachmentOrder): Promise<readonly AttachmentRef[]>;
  /** For a message that was not accepted after all. */
  dropAttachments(scope: TenantScope, refs: readonly AttachmentRef[]): Promise<void>;
  /** The outcome of a turn that has ended. */
  outcomeOf(order: Pick<TurnOrder, 'scope' | 'executionId'>): Promise<TurnOutcome | undefined>;
  /** Whether a session has accepted the turn, so that it ends there some time, or has ended. */
  isKnown(order: Pick<TurnOrder, 'scope' | 'executionId'>): Promise<boolean>;
  /** The refusal of a turn for lack of tokens or money, or by the rules of its key; undefined if the tenant pays for the agent's model itself. */
  tokenRefusal(
    tenant: Pick<TurnOrder, 'scope' | 'limits' | 'keyId'>,
    agentId: string,
  ): Promise<PlatformError | undefined>;
}

export interface ConsumerPort {
  /** Whether the tenant's denylist contains this consumer. */
  isDenied(scope: TenantScope, consumerKey: string): boolean | Promise<boolean>;
}
