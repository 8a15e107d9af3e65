// Writes docs/openapi.json, the document that a node serves at /openapi.json. Types of clients are made of it without a
// node. A test holds the file to what is served. Run it after each change of an operation.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { buildPlatform } from './build.mjs';

await buildPlatform();
const { provideDatabase } = await import('./test-database.mjs');
// By this name the databases are found again and dropped, also on a server of DATABASE_URL.
const run = `openapi${process.pid}`;
const database = await provideDatabase(run);
Object.assign(process.env, database.environment, { TROUPE_TEST_RUN: run });
const { startTestNode } = await import('../dist/test/support/servers/node.js');

/** One line for each part down to the depth, so that a change of one operation is a change of its line. */
function written(/** @type {unknown} */ value, /** @type {number} */ depth) {
  if (depth === 0 || typeof value !== 'object' || value === null || Array.isArray(value))
    return JSON.stringify(value);
  const lines = Object.entries(value).map(
    ([name, part]) => `${JSON.stringify(name)}: ${written(part, depth - 1)}`,
  );
  return lines.length === 0 ? '{}' : `{\n${lines.join(',\n')}\n}`;
}

/** @type {(() => Promise<void>)[]} */
const endings = [];
try {
  const { client } = await startTestNode({ teardown: (end) => void endings.push(end) });
  const { json } = await client.call('GET', '/openapi.json');
  const page = fileURLToPath(new URL('../docs/openapi.json', import.meta.url));
  // The address differs from node to node; clients are given theirs.
  writeFileSync(page, `${written({ ...json, servers: [{ url: '/' }] }, 3)}\n`);
} finally {
  for (const end of endings.toReversed()) await end();
  await database.stop();
}
process.exit(0);
