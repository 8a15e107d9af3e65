import { type Call, ClusterError } from '../../../cluster/index.js';
import type { WatchPlace, WatchRequest, WatchResponse } from '../../../generated/troupe/actors/v1/session.js';
import { messageEnd } from './event-messages.js';
import type { LiveTurn } from './live-turn.js';
import type { SessionState } from './session-state.js';
import { watchedEventsToWire } from './wire/turn-events.js';

/** What a reader asks for that has read as far as `last`. */
export function watchOn(from: WatchRequest, { executionId, events, others }: WatchResponse): WatchRequest {
  const last = events.at(-1);
  return last === undefined ? from : { executionId, after: last.id, others };
}

/**
 * What happens in a session from now on, turn by turn, or for a reader that was cut off, after the last events that it
 * has. Ends with the call, or when the session is erased.
 */
export async function* watch(
  state: SessionState,
  from: WatchRequest,
  call: Call,
  leaving: () => boolean,
): AsyncGenerator<WatchResponse> {
  const { session: watched } = state;
  const places = new Map<LiveTurn, number>();
  for (const turn of state.allTurns()) places.set(turn, firstPlace(turn, from));
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
      if (events.length === 0) continue;
      const others = { turns: placesBeside(turn, places) };
      yield watchedEventsToWire({ executionId: turn.row.id, events }, others);
    }
  } finally {
    end();
    call.signal.removeEventListener('abort', onEnd);
  }
}

function firstPlace(turn: LiveTurn, { executionId, after, others }: WatchRequest): number {
  const { log, finished, row } = turn;
  if (row.id === executionId) return log.placeAfter(after);
  const known = others?.turns.find((one) => one.executionId === row.id);
  if (known !== undefined) return log.placeAfter(known.after);
  // A reader that came back tells its place in each turn that it knows; any other turn began since then.
  return finished && others === undefined ? log.events.length : 0;
}

function placesBeside(turn: LiveTurn, places: ReadonlyMap<LiveTurn, number>): WatchPlace[] {
  return [...places]
    .filter(([other]) => other !== turn)
    .map(([{ row, log }, place]) => ({ executionId: row.id, after: log.events[place - 1]?.id ?? 0 }));
}
