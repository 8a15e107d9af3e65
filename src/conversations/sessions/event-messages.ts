import type { LoggedEvent } from './turn-log.js';

/** Events of one message to a reader: large enough to be cheap, small enough to share a link. */
const eventsMax = 256;
/** Of one message, far below the size that a link refuses. One event alone may have more. */
const charactersMax = 256 * 1024;

/** The place behind the events of the message that begins at `place`. */
export function messageEnd(events: readonly LoggedEvent[], place: number): number {
  let characters = 0;
  let end = place;
  for (const logged of events.slice(place, place + eventsMax)) {
    characters += charactersOf(logged);
    if (characters > charactersMax && end > place) break;
    end += 1;
  }
  return end;
}

function charactersOf({ event }: LoggedEvent): number {
  // Almost all events of a long turn are pieces of text.
  return event.type === 'delta' || event.type === 'thinking'
    ? event.content.length
    : JSON.stringify(event).length;
}
