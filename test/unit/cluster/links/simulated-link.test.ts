import test from 'ava';
import { SimulatedHost } from '../../../../cluster/simulation/host.js';
import { SimulatedNetwork } from '../../../../cluster/simulation/network.js';
import { SeededRandom, VirtualTime } from '../../../../cluster/simulation/virtual-time.js';
import { linkContract } from '../../../contracts/link.js';

linkContract(test, 'simulated', () => {
  const time = new VirtualTime();
  const random = new SeededRandom(3);
  const network = new SimulatedNetwork(time, random);
  return Promise.resolve({
    process(name) {
      const host = new SimulatedHost(time, name);
      return {
        time: host.time,
        random,
        transport: network.transport(host),
        vanish() {
          host.kill();
          return Promise.resolve();
        },
      };
    },
    until: (_what, holds) => time.until(holds, 30_000, 1),
  });
});
