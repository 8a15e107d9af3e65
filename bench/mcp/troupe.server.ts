import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../../src/infra/storage/embedded/index.js';
import { serveBench } from '../support/servers.js';
import { startWholeNode } from '../support/whole-node.js';

const directory = await mkdtemp(join(tmpdir(), 'troupe-bench-'));
const database = await startEmbeddedPostgres({ directory: join(directory, 'postgres'), flush: false });
const { port, key, stop } = await startWholeNode(database.connectionString);

serveBench({ port, facts: { key } }, async () => {
  await stop();
  await database.stop();
  await rm(directory, { recursive: true, force: true });
});
