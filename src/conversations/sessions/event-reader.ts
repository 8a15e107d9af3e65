import { ActorError, type Call, ClusterError } from '../../../cluster/index.js';
import type { Time } from '../../../cluster/index.js';
import { messageEnd } from './event-messages.js';
import type { LiveTurn } from './live-turn.js';
import type { Reader, Readers } from './readers.js';
import { type TurnEventsMessage, turnEventsToWire } from './wire/turn-events.js';

/**
 * A reader has a turn's last events before the client does. It stays among the readers for this long, so that a
 * change of the control mode waits for it; after that it counts as stuck and is not waited for.
 */
const forwardingMs = 1_000;

export const elsewhere = turnEventsToWire({
  events: [],
  deadlineInMs: 0,
  barrier: 0,
  elsewhere: true,
  after: 0,
});

/** The only message to a reader whose turn is not here. */
export async function* goneElsewhere(): AsyncGenerator<TurnEventsMessage> {
  yield elsewhere;
}

export interface NewReader {
  /** The last event that it has. */
  readonly after: number;
  readonly follower: string;
  /** Whether another request had begun the turn. */
  readonly joined: boolean;
}

interface FollowOptions extends NewReader {
  readonly turn: LiveTurn;
  readonly readers: Readers;
  readonly time: Time;
  /** Whether the actor is being moved: readers of queued turns then follow it to the new owner. */
  readonly leaving: () => boolean;
}

/** A turn's events after the last one that the reader has, until the turn has ended. */
export async function* follow(options: FollowOptions, call: Call): AsyncGenerator<TurnEventsMessage> {
  const { turn, after, follower, joined, readers } = options;
  const reader = readers.enter(follower, turn, joined);
  // Aborting the call ends the wait below.
  const wake = (): void => turn.log.wake();
  call.signal.addEventListener('abort', wake, { once: true });
  const grace = new ForwardingGrace(options.time, wake);
  try {
    let place = turn.log.placeAfter(after);
    let last = after;
    let sentDeadlineAtMs: number | undefined;
    while (!call.ended) {
      checkReader(options, reader);
      const until = messageEnd(turn.log.events, place);
      const events = turn.eventsFrom(place, until);
      place = until;
      const barrier = reader.barrier;
      reader.barrier = 0;
      const deadlineInMs = sentDeadlineAtMs === turn.deadlineAtMs ? 0 : deadlineIn(options);
      sentDeadlineAtMs = turn.deadlineAtMs;
      if (events.length > 0 || barrier > 0 || deadlineInMs > 0) {
        last = events.at(-1)?.id ?? last;
        yield turnEventsToWire({ events, deadlineInMs, barrier, elsewhere: false, after: last });
      } else if (place < turn.log.events.length) {
        // All of this part was retracted; the rest is there already.
        continue;
      } else if (turn.log.closed && grace.isOver()) return;
      else await turn.log.changed();
    }
  } finally {
    grace.forget();
    call.signal.removeEventListener('abort', wake);
    readers.leave(follower, reader);
  }
}

/** The time from a reader's last event until the reader no longer counts as forwarding it. */
class ForwardingGrace {
  readonly #time: Time;
  readonly #wake: () => void;
  #timer: { cancel(): void } | undefined;
  #isOver = false;

  constructor(time: Time, wake: () => void) {
    this.#time = time;
    this.#wake = wake;
  }

  isOver(): boolean {
    this.#timer ??= this.#time.after(forwardingMs, () => {
      this.#isOver = true;
      this.#wake();
    });
    return this.#isOver;
  }

  forget(): void {
    this.#timer?.cancel();
  }
}

function checkReader({ turn, leaving }: FollowOptions, { cut }: Reader): void {
  if (cut) throw new ActorError('cut', 'The reader did not keep up with a change of the control mode.');
  if (leaving() && turn.row.status !== 'running' && !turn.finished) {
    throw new ClusterError('not_serving', 'the session is moving to another node');
  }
}

function deadlineIn({ turn, time }: FollowOptions): number {
  return turn.deadlineAtMs === undefined
    ? 0
    : Math.max(1, Math.round(turn.deadlineAtMs - time.monotonicMs()));
}
