#!/usr/bin/env node
// `npm run cluster -- --nodes 3`: real processes over one PostgreSQL and one Redis. Prints what they say, restarts
// none, stops all on Ctrl-C. DATABASE_URL and REDIS_URL are used where set; else both are started here.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from '../scripts/build.mjs';

const { values } = parseArgs({ options: { nodes: { type: 'string', default: '3' } } });
const nodes = Number(values.nodes);
if (!Number.isInteger(nodes) || nodes < 1 || nodes > 32) {
  process.stderr.write('cluster: --nodes takes a number from 1 to 32\n');
  process.exit(2);
}
build();
const { migrate, startEmbeddedPostgres } = await import('../dist/src/storage/index.js');
const directory = mkdtempSync(join(tmpdir(), 'troupe-cluster-'));
/** @type {(() => unknown)[]} */
const undo = [() => rmSync(directory, { recursive: true, force: true })];

const databaseUrl = process.env.DATABASE_URL ?? (await ownPostgres());
const redisUrl = process.env.REDIS_URL ?? (await ownRedis());
await migrate({ databaseUrl });

const program = fileURLToPath(new URL('../dist/cluster/example/process.js', import.meta.url));
const settings = {
  databaseUrl,
  redisUrl,
  databaseRole: 'troupe_writer',
  cluster: 'local',
  secret: 'local',
};
const ports = await Promise.all(Array.from({ length: nodes }, freePort));
const children = ports.map((port) =>
  spawn(process.execPath, [program, JSON.stringify({ ...settings, port })], {
    stdio: ['ignore', 'inherit', 'inherit'],
  }),
);
let stopping = false;
const ended = children.map(
  (child) =>
    new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        if (!stopping)
          process.stdout.write(`${child.pid} ended (${signal ?? code}); it is not started again\n`);
        resolve(undefined);
      });
    }),
);
const stop = () => {
  if (stopping) return;
  stopping = true;
  for (const child of children) child.kill('SIGTERM');
};
process.on('SIGINT', stop);
process.on('SIGTERM', stop);
await Promise.all(ended);
for (const step of undo.toReversed()) await step();
process.exit(0);

async function ownPostgres() {
  const postgres = await startEmbeddedPostgres({ directory: join(directory, 'postgres') });
  undo.push(() => postgres.stop());
  return postgres.connectionString;
}

async function ownRedis() {
  const server = ['redis-server', 'valkey-server'].find(
    (name) => spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0,
  );
  if (server === undefined) {
    process.stderr.write('cluster: no redis-server on the PATH; install it, or set REDIS_URL\n');
    for (const step of undo.toReversed()) await step();
    process.exit(1);
  }
  const port = await freePort();
  const child = spawn(
    server,
    ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', directory],
    {
      stdio: 'ignore',
      detached: true,
    },
  );
  undo.push(() => child.kill('SIGTERM'));
  return `redis://127.0.0.1:${port}`;
}

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}
