import { type Call, ClusterError } from '../../../cluster/index.js';
import type { WatchRequest, WatchResponse } from '../../../generated/troupe/actors/v1/session.js';
import { messageEnd } from './event-messages.js';
import type { LiveTurn } from './live-turn.js';
import type { SessionState } from './session-state.js';
import { watchedEventsToWire } from './wire/turn-events.js';

/** What a reader asks for that has read as far as `last`. */
export function watchOn(from: WatchRequest, { executionId, events }: WatchResponse): WatchRequest {
  const last = events.at(-1);
  return last === undefined ? from : { executionId, after: last.id };
}

/**
 * What happens in a session from now on, turn by turn, or for a reader that was cut off, after the last event that it has.
 * Ends with the call, or when the session is erased.
 */
export async function* watch(
  state: SessionState,
  from: WatchRequest,
  call: Call,
  leaving: () => boolean,
): AsyncGenerator<WatchResponse> {
  const { session: watched } = state;
  const places = new Map<LiveTurn, number>();
  for (const turn of state.allTurns()) places.set(turn, turn.finished ? turn.log.events.length : 0);
  const begun = state.turn(from.executionId);
  if (begun !== undefined) places.set(begun, begun.log.placeAfter(from.after));
  let wake = (): void => undefined;
  const onEnd = (): void => wake();
  call.signal.addEventListener('abort', onEnd, { once: true });
  const end = state.onChange(() => wake());
  try {
    while (!call.ended) {
      // A reader must not delay the move of an actor; it continues at the new owner.
      if (leaving()) throw new ClusterError('not_serving', 'the session is moving to another node');
      if (watched !== undefined && state.session?.created_at !== watched.created_at) return;
      const changed = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const turn = state.turns().find((one) => (places.get(one) ?? 0) < one.log.events.length);
      if (turn === undefined) {
        for (const known of places.keys()) if (state.turn(known.row.id) !== known) places.delete(known);
        await changed;
        continue;
      }
      const place = places.get(turn) ?? 0;
      const until = messageEnd(turn.log.events, place);
      places.set(turn, until);
      const events = turn.eventsFrom(place, until);
      if (events.length > 0) yield watchedEventsToWire({ executionId: turn.row.id, events });
    }
  } finally {
    end();
    call.signal.removeEventListener('abort', onEnd);
  }
}
