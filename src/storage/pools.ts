// slonik's pools: one per role, entered by a startup option, so that no statement ever runs as the owner.
import { createPool } from 'slonik';
import type { DatabasePool } from 'slonik';
import type { ConnectionSettings } from './connection.js';
import { driverFactory } from './driver.js';
import { resultParser } from './result-parser.js';

export type PoolSettings = ConnectionSettings & { readonly connectionsMax: number };

export function openPool({ connectionsMax, ...settings }: PoolSettings): Promise<DatabasePool> {
  // The driver has the address and the time-outs; slonik's own settings of them are not read.
  return createPool('postgresql://', {
    driverFactory: driverFactory(settings),
    maximumPoolSize: connectionsMax,
    connectionRetryLimit: 1,
    gracefulTerminationTimeout: 1_000,
    idleTimeout: 60_000,
    transactionRetryLimit: 3,
    queryRetryLimit: 3,
    interceptors: [resultParser],
    // slonik's own reset, DISCARD ALL, would also leave the role of the startup option. All that a
    // transaction sets here is local to it, so nothing is left over.
    resetConnection: async () => undefined,
  });
}
