// A node reduced to its embedded PostgreSQL, for tests that kill it: prints the address, ends on SIGTERM.
import { startEmbeddedPostgres } from '../../../src/infra/storage/embedded/index.js';

const [, , directory = ''] = process.argv;
try {
  const postgres = await startEmbeddedPostgres({ directory, flush: false });
  process.stdout.write(`${JSON.stringify({ url: postgres.connectionString })}\n`);
  setInterval(() => undefined, 60_000); // PostgreSQL alone does not keep a process alive; a node's server does
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      // Slow on purpose: PostgreSQL must still be there while a node drains.
      setTimeout(() => void postgres.stop().then(() => process.exit(0)), 2_000);
    });
  }
} catch (error) {
  process.stdout.write(`${JSON.stringify({ error: String(error) })}\n`);
  process.exitCode = 1;
}
