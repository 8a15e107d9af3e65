import { clusterConfig } from '../../cluster/config.js';
import { durableCounter } from '../../cluster/example/counter.js';
import { postgresCounterTables } from '../../cluster/example/postgres-counter.js';
import { GroupCommit } from '../../cluster/fencing/group-commit.js';
import { PostgresFenceStore } from '../../cluster/fencing/postgres/fence-store.js';
import { systemRandom, systemTime } from '../../cluster/time/system.js';

/** The example counter over a real PostgreSQL, with the runtime's own settings. */
export function durableCounterOver(databaseUrl: string) {
  const config = clusterConfig();
  const store = new PostgresFenceStore(postgresCounterTables, {
    databaseUrl,
    role: 'troupe_writer',
    statementTimeoutMs: config.statementTimeoutMs,
    connectTimeoutMs: config.connectTimeoutMs,
    time: systemTime,
  });
  const counter = durableCounter(new GroupCommit(store, config, systemTime, systemRandom), systemTime);
  return { counter, close: () => store.close() };
}
