// Realtime's face: what the people of a tenant hear of at once, wherever they are connected.
import type { Random, Time } from '../../../cluster/index.js';
import type { Operation } from '../../http/operations/index.js';
import type { ChangeFeed, HotReads, Store } from '../../infra/storage/index.js';
import { Hub } from './hub.js';
import { realtimeOperations } from './operations.js';
import { removeOld } from './realtime.store.js';

export type { Envelope, RealtimeEvent } from './events.js';
export {
  realtimeStatement,
  realtimeTopic,
  type RealtimeEventRow,
  recordRealtimeEvent,
} from './realtime.store.js';

/** Every node removes what is old; that they do it at different times matters to nobody. */
const removeEveryMs = 60_000;

export interface RealtimeSubject {
  readonly operations: readonly Operation[];
  /** Ends the streams, so that their clients go elsewhere before the node does. */
  stop(): void;
}

export function createRealtime(parts: {
  readonly store: Store;
  readonly reads: HotReads;
  readonly feed: ChangeFeed;
  readonly time: Time;
  readonly random: Random;
  /** To the sockets of this node that joined a topic. */
  readonly publish: (topic: string, text: string) => void;
  readonly report: (attempted: string, error: unknown) => void;
}): RealtimeSubject {
  const { store, reads, feed, time, random, publish, report } = parts;
  const hub = new Hub({ feed, reads, time, publish, report });
  const removal = (waitMs: number) =>
    time.after(waitMs, () => {
      timer = removal(removeEveryMs);
      removeOld(store).catch((error: unknown) => report('removing old realtime events', error));
    });
  let timer = removal(removeEveryMs * random.fraction());
  return {
    operations: realtimeOperations(hub, time),
    stop: () => {
      timer.cancel();
      hub.stop();
    },
  };
}
