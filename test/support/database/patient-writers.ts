// Batch writers that two slow cores do not hurry: only a test of time limits sets its own.
import { systemRandom, systemTime } from '../../../cluster/index.js';
import { type BatchWriters, openBatchWriters } from '../../../src/infra/storage/index.js';

const patienceMs = 60_000;

export function openPatientWriters(databaseUrl: string, process?: string): BatchWriters {
  const writers = openBatchWriters({
    databaseUrl,
    process,
    time: systemTime,
    random: systemRandom,
    statementTimeoutMs: patienceMs,
  });
  return {
    writer: (target, limits) => writers.writer(target, { deadlineMs: patienceMs, ...limits }),
    close: () => writers.close(),
  };
}
