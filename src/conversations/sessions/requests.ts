/** What callers ask of a session's actor and what it answers, independent of the messages between nodes. */
import type { Author, FlatObject } from '../invocation/index.js';
import type { ControlKind, ControlMode, StoredInput } from './rows.js';
import type { LoggedEvent } from './turn-log.js';

/** A turn as its session's actor receives it. */
export interface RequestedTurn {
  readonly executionId: string;
  readonly agentId: string;
  /** An unknown session is refused, not created. */
  readonly mustExist: boolean;
  /** A session that its author did not start is refused like an unknown one. */
  readonly ownSessionsOnly: boolean;
  readonly channel: string;
  readonly consumerKey: string | undefined;
  /** Several people may write in the session. */
  readonly sharesSession?: boolean;
  readonly consumerDisplayName: string | undefined;
  readonly nameInferred: boolean;
  readonly input: RequestedInput;
  /** For tools; stored sealed, and only while the turn runs. */
  readonly context: FlatObject;
  /** For tools; not stored. */
  readonly bindings: FlatObject;
  readonly metadata: FlatObject;
  readonly keyId: string | null;
  readonly userId: string | null;
  readonly triggerId: string | undefined;
  readonly deadlineMs: number;
}

/** Without what the session adds when it stores the input. */
export type RequestedInput = Omit<
  StoredInput,
  'deadline_ms' | 'needs_bindings' | 'message_number' | 'handovers'
>;

/** Events of one turn, as a reader gets them from the turn's owner. */
export interface TurnEvents {
  readonly events: readonly LoggedEvent[];
  /** Set once the turn runs: how long its owner may be silent. */
  readonly deadlineInMs: number;
  /** If not 0, the reader drops the unsent text of the turn and confirms this number. */
  readonly barrier: number;
  /** The turn has finished and its events are no longer in memory: the rest is in the store. */
  readonly elsewhere: boolean;
  /** The id of the last event that the reader has with this message; 0 if it has none. */
  readonly after: number;
}

/** Events of one of a session's turns, as a monitor gets them. */
export interface WatchedEvents {
  readonly executionId: string;
  readonly events: readonly LoggedEvent[];
}

export interface OpenedSession {
  readonly agentId: string;
  readonly consumerKey: string | undefined;
  readonly channel: string;
  readonly metadata: FlatObject;
  readonly startedBy: Author | null;
}

export interface RequestedControl {
  readonly change: 'engaged' | ControlKind;
  readonly reason: string | undefined;
  readonly by: string;
  readonly expiresInSeconds: number | undefined;
  /** Applies only if this is still the epoch. */
  readonly ifEpoch: number | undefined;
}

/** A person's decision on a call of a tool. */
export interface RequestedDecision {
  readonly approvalId: string;
  readonly approved: boolean;
  /** JSON text of the arguments that replace the model's. */
  readonly arguments: string | undefined;
  readonly reason: string | undefined;
  readonly by: string;
}

/** A message that does not come from a turn. */
export interface AppendedMessage {
  readonly id: string;
  readonly content: string;
  readonly metadata: FlatObject;
  readonly mustBeHandedOff: boolean;
  /** Part of the realtime event about the message. */
  readonly writtenBy: string;
  readonly author: Author | null;
}

/** The fields of a session that its owner reports. */
export interface SessionOverview {
  readonly id: string;
  readonly agentId: string;
  readonly control: SessionControl;
  readonly createdAt: Date;
}

export interface SessionControl {
  readonly mode: ControlMode;
  readonly kind: ControlKind | null;
  readonly reason: string | null;
  readonly by: string | null;
  readonly since: Date | null;
  readonly expiresAt: Date | null;
}
