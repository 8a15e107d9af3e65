// The whole platform with keys, limits, quota, ledger and telemetry, and a PostgreSQL that flushes its commits.
import { serveBench } from '../support/servers.js';
import { startWholeNode } from '../support/whole-node.js';

const vendor = process.env['BENCH_VENDOR'];
const databaseUrl = process.env['BENCH_DATABASE'];
if (vendor === undefined || databaseUrl === undefined) {
  throw new Error('BENCH_VENDOR and BENCH_DATABASE must be the addresses of the vendor and the database');
}
const { port, key, stop } = await startWholeNode(databaseUrl, {
  OPENAI_API_KEY: 'key-of-the-bench',
  OPENAI_BASE_URL: `${vendor}/v1`,
});
serveBench({ port, facts: { key } }, stop);
