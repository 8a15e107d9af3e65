// The public interface of realtime: events that a tenant's users receive at once, on whatever node they are
// connected.
import type { Operation } from '../../http/operations/index.js';
import type { Platform } from '../../infra/platform/index.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { Envelope } from './events.js';
import { Hub } from './hub.js';
import { realtimeOperations } from './operations.js';
import { removeOld } from './realtime.store.js';

export type { Envelope, RealtimeEvent } from './events.js';
export { realtimeEventShape } from './event-shapes.js';
export {
  forgetEventsOfConsumer,
  realtimeRemovals,
  realtimeStatement,
  realtimeTopic,
  type RealtimeEventRow,
  recordRealtimeEvent,
} from './realtime.store.js';

/** Every node removes old events, each at its own time. */
const removeEveryMs = 60_000;
/** Small, so that other transactions do not wait long for locks or disk space. */
const removedMax = 500;

export interface RealtimeSubject {
  readonly operations: readonly Operation[];
  /** Hands out the tenant's events from now on, until the returned function is called. Refuses beyond the limit. */
  listen(scope: TenantScope, receive: (event: Envelope) => void): () => void;
  /** Ends the streams, so that their clients reconnect to other nodes before this node stops. */
  stop(): void;
}

export function createRealtime(
  platform: Pick<Platform, 'store' | 'reads' | 'changes' | 'time' | 'random' | 'log'>,
  /** Publishes to the sockets of this node that joined a topic. */
  { publish }: { readonly publish: (topic: string, text: string) => void },
): RealtimeSubject {
  const { store, reads, changes: feed, time, random, log } = platform;
  const { report } = log;
  const hub = new Hub({ feed, reads, time, publish, report });
  const removal = (waitMs: number) =>
    time.after(waitMs, () => {
      timer = removal(removeEveryMs);
      removeOld(store, removedMax).catch((error: unknown) => report('removing old realtime events', error));
    });
  let timer = removal(removeEveryMs * random.fraction());
  return {
    operations: realtimeOperations(hub, time),
    listen: (scope, receive) => {
      hub.admit(scope);
      const leave = hub.enter(scope);
      const stop = hub.listen(scope, { receive });
      return () => {
        stop();
        leave();
      };
    },
    stop: () => {
      timer.cancel();
      hub.stop();
    },
  };
}
