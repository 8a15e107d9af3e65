import type { ProcessId } from '../ids/ids.js';
import type { Member, View, ViewName } from './membership.js';

/** A question from one membership to another, on a channel of its own that calls cannot delay. */
export interface ProbeRequest {
  readonly from: ProcessId;
  readonly view: ViewName;
  /** Requests a promise for one lease; granted only by a peer that cannot reach the member store itself. */
  readonly confirm: boolean;
  /** A process that is surely gone: the asker saw its exit, or its lease and margin have passed. */
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
  /** No listener or another process answers at the address: proof that the peer's listener is gone. */
  | { readonly outcome: 'refused' };

export interface PeerProbe {
  /** Rejects with `peer_lost` or `deadline_exceeded` if nothing was learned. */
  ask(peer: Member, request: ProbeRequest, signal: AbortSignal): Promise<ProbeAnswer>;
  /** Sets the one handler that answers the probes of others. */
  answerWith(handler: (request: ProbeRequest) => ProbeReply | Promise<ProbeReply>): void;
}
