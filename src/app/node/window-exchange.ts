import { clusterIdentity } from '../../infra/runtime/index.js';
import type { Sealer } from '../../infra/sealing/index.js';
import { type RefusalMeasures, WindowExchange } from '../../tenancy/quota/index.js';
import type { NodeEnvironment } from './node-environment.js';
import type { Stores } from './stores.js';

/** The exchange of the windows of users and addresses with the other nodes; undefined without Redis. */
export async function windowExchange(
  { settings, process }: NodeEnvironment,
  { platform, shared }: Stores,
  sealer: Sealer,
  measures: Pick<RefusalMeasures, 'countedAlone'>,
): Promise<WindowExchange | undefined> {
  if (shared === undefined) return undefined;
  const { store, random, time, log } = platform;
  const { name: installation } = await clusterIdentity({
    store,
    sealer,
    random,
    givenSecret: settings.clusterSecret,
  });
  const node = { installation, process };
  return new WindowExchange(
    time,
    (counted) => shared.exchangeWindows(node, counted),
    log.report,
    () => measures.countedAlone(),
  );
}
