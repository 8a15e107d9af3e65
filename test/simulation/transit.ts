import { ClusterError } from '../../cluster/errors.js';
import type { SimulatedHost } from '../../cluster/simulation/host.js';
import type { Transit } from '../../cluster/simulation/member-store.js';
import type { SimulatedNetwork } from '../../cluster/simulation/network.js';
import type { VirtualTime } from '../../cluster/simulation/virtual-time.js';

/**
 * The way of steps from a process to a store and of its answers back. `loses`: the step is made, but its answer is lost.
 * `lateMs`: how long it is on its way beyond the network's delay.
 */
export function transitOf(
  { time, network }: { readonly time: VirtualTime; readonly network: SimulatedNetwork },
  host: SimulatedHost,
  reaches: () => boolean,
  loses = (): boolean => false,
  lateMs = (): number => 0,
): Transit {
  return (step) =>
    new Promise((resolve, reject) => {
      const fail = (): void => {
        const error = new ClusterError('membership_unavailable', 'the store is unreachable');
        time.after(network.delayMs(), () => host.deliver(() => reject(error)));
      };
      time.after(network.delayMs() + lateMs(), () => {
        if (!reaches()) {
          fail();
          return;
        }
        const value = step();
        time.after(network.delayMs(), () => {
          if (reaches() && !loses()) host.deliver(() => resolve(value));
          else fail();
        });
      });
    });
}
