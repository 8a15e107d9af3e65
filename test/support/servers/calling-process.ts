// A process that makes mixed calls until it is killed, and reports the number of started calls to its parent.
import { startCalls } from './calls-rig.js';
import { accessTo, mixedCall, mixedCalls } from '../builders/mixed-calls.js';
import { tenantScope } from '../../../src/kernel/tenant-scope.js';

export interface CallingOrder {
  readonly databaseUrl: string;
  readonly baseUrls: { readonly openai: string; readonly anthropic: string; readonly xai: string };
  readonly tenantId: string;
  readonly processId: string;
  readonly count: number;
}

process.once('message', (order: CallingOrder) => {
  void make(order);
});
process.once('disconnect', () => process.exit(0));

async function make({ databaseUrl, baseUrls, tenantId, processId, count }: CallingOrder): Promise<void> {
  const rig = await startCalls({ databaseUrl, vendors: accessTo(baseUrls), processId });
  await mixedCalls(count, 32, async (nth) => {
    process.send?.(nth);
    await mixedCall(rig, tenantScope(tenantId), nth);
  });
  await rig.close();
  process.send?.('done');
}
