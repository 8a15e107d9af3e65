// Prints the tests that run on the other supported release of Node too (docs/decisions/0112).
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
/** Their imports show what they test. End-to-end tests import helpers only, so they are named below. */
const chosenByImports = ['test/unit', 'test/integration'];

/** Parts of Node whose behaviour has changed between releases, and packages that are native or extend such a part. */
export const dependent = new Set([
  'node:child_process',
  'node:dgram',
  'node:dns',
  'node:dns/promises',
  'node:http2',
  'node:https',
  'node:module',
  'node:stream',
  'node:stream/promises',
  'node:tls',
  'node:v8',
  'node:vm',
  'node:worker_threads',
  'node:zlib',
  '@grpc/grpc-js',
  '@node-rs/argon2',
  'imapflow',
  'smtp-server',
  'uWebSockets.js',
  'undici',
]);

/** Tests whose imports do not show it, with the reason: one for each way into, through and out of a node. */
export const alsoOnOther = {
  'test/cluster/killed-claims.test.ts': 'three nodes as processes with links over gRPC, one of them killed',
  'test/e2e/agent-tools.test.ts': 'a turn calls tools by fetch',
  'test/e2e/broken-off-answers.test.ts': 'streams end in their midst',
  'test/e2e/callbacks.test.ts': 'signed requests go out by fetch',
  'test/e2e/client/turns.test.ts': 'the client reads streams by fetch over broken connections',
  'test/e2e/compat.test.ts': 'clients of vendors read streams of the server',
  'test/e2e/databases.test.ts': 'a pool over TCP to a database of a tenant',
  'test/e2e/mcp.test.ts': 'MCP over streamed HTTP',
  'test/e2e/mcp-stdio.test.ts': 'MCP over the pipes of a process',
  'test/e2e/package.test.ts': 'the packed project, installed and started',
  'test/e2e/raw-fuzz.test.ts': 'raw bytes to the native server',
  'test/e2e/start.test.ts': 'npm start and its signals, with commands beside it',
  'test/e2e/turn-streams.test.ts': 'answers stream from a whole node',
  'test/e2e/vendor-calls.test.ts': 'streams of vendors are read by fetch',
  'test/e2e/webhooks.test.ts': 'the way of a message through a whole node',
  'test/integration/http/edge/bodies.test.ts': 'bodies that the native server reads',
  'test/integration/http/edge/slow-answers.test.ts': 'backpressure of the native server',
  'test/integration/http/edge/slow-clients.test.ts': 'slow connections to the native server',
  'test/integration/infra/storage/change-feed.test.ts': 'connections to PostgreSQL that break',
  'test/integration/infra/storage/store.test.ts': 'the pool of connections to PostgreSQL',
  'test/unit/http/edge/connections.test.ts': 'connections to the native server',
  'test/unit/http/edge/left-clients.test.ts': 'clients that leave the native server',
  'test/unit/http/edge/quiet-streams.test.ts': 'streams of the native server',
  'test/unit/http/edge/server.test.ts': 'start and stop of the native server',
  'test/unit/toolchain.test.ts': 'the script that runs the tests',
};

const imported =
  /(?:^|\n)\s*(?:import|export)\s+(?!type\b)[^'";]*?from\s*'([^']+)'|\bimport\(\s*'([^']+)'\s*\)|(?:^|\n)import\s+'([^']+)'/g;

/** What a source imports at run time: packages by name, sources by their path from the root. */
export function importsOf(path) {
  const file = join(root, path);
  if (!existsSync(file)) return [];
  return [...readFileSync(file, 'utf8').matchAll(imported)].map(([, from, dynamic, bare]) => {
    const name = from ?? dynamic ?? bare;
    return name.startsWith('.') ? join(dirname(path), name).replace(/\.js$/, '.ts') : name;
  });
}

/**
 * A test depends on the release if it, or a source of the product that it imports itself, imports a part that does.
 * Helpers of tests do not count: most start a program or a server, which says nothing of what is tested.
 */
function dependsOnRelease(path) {
  const names = importsOf(path);
  return names.some(
    (name) =>
      dependent.has(name) ||
      (/^(?:src|cluster|client)\/.*\.ts$/.test(name) && importsOf(name).some((one) => dependent.has(one))),
  );
}

/** Every test of the second run, as a path from the root. */
export function otherNodeTests() {
  const byImports = chosenByImports
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) =>
        join(folder, name),
      ),
    )
    .filter((path) => path.endsWith('.test.ts') && dependsOnRelease(path));
  return [...new Set([...byImports, ...Object.keys(alsoOnOther)])].toSorted();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const path of otherNodeTests()) process.stdout.write(`dist/${path.replace(/\.ts$/, '.js')}\n`);
}
