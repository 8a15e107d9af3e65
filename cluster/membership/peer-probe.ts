import type { ProcessId } from '../ids/ids.js';
import type { Member, View, ViewName } from './membership.js';

/** What one membership asks another, over a channel of its own that calls cannot hold up. */
export interface ProbeRequest {
  readonly from: ProcessId;
  readonly view: ViewName;
  /** Asks for a promise of one lease: only granted by a peer that cannot reach the member store itself. */
  readonly confirm: boolean;
  /** A process that is surely gone: the asker saw its exit, or its lease and margin are over. */
  readonly exited: ProcessId | undefined;
}

export interface ProbeReply {
  readonly from: ProcessId;
  readonly confirmed: boolean;
  readonly reachesMemberStore: boolean;
  /** The highest view that the peer holds. */
  readonly view: View;
}

export type ProbeAnswer =
  | { readonly outcome: 'replied'; readonly reply: ProbeReply }
  /** Nothing listens at the address, or another process does: proof that the peer's listener is gone. */
  | { readonly outcome: 'refused' };

export interface PeerProbe {
  /** Rejects with `peer_lost` or `deadline_exceeded` when nothing was learned. */
  ask(peer: Member, request: ProbeRequest, signal: AbortSignal): Promise<ProbeAnswer>;
  /** Who answers the questions of others; one handler. */
  answerWith(handler: (request: ProbeRequest) => ProbeReply | Promise<ProbeReply>): void;
}
