import test from 'ava';
import { processId } from '../../../../cluster/ids/ids.js';
import { GrpcPeers } from '../../../../cluster/links/grpc/peers.js';
import type { Listener } from '../../../../cluster/links/pipe.js';
import { systemRandom, systemTime } from '../../../../cluster/time/system.js';
import { linkCluster, linkConfig, linkContract } from '../../../contracts/link.js';
import { eventually } from '../../../support/clocks/eventually.js';

linkContract(test, 'gRPC', (t) =>
  Promise.resolve({
    process(name, secret) {
      const peers = new GrpcPeers(
        { self: processId(name), cluster: linkCluster, secret, host: '127.0.0.1', port: 0 },
        linkConfig,
        systemTime,
        systemRandom,
      );
      let listener: Listener | undefined;
      const vanish = async (): Promise<void> => listener?.close();
      t.teardown(vanish);
      return {
        time: systemTime,
        random: systemRandom,
        transport: {
          dial: (peer, signal) => peers.dial(peer, signal),
          listen: async (accept) => (listener = await peers.listen(accept)),
        },
        vanish,
      };
    },
    until: (what, holds) => eventually(holds, { what, timeoutMs: 30_000 }),
  }),
);
