#!/usr/bin/env node
// `npm run cluster -- --nodes 3`: whole nodes as real processes over one PostgreSQL and one Redis. Prints where they
// are, restarts none, stops all on Ctrl-C. DATABASE_URL and REDIS_URL are used where set; else both are started here.
// With `--example` the processes are those of the runtime alone, with its example actor.
import './supported-node.mjs';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from '../scripts/build.mjs';

const { nodes, example } = words();
build();
const { makeFolder, migrate, startEmbeddedPostgres } = await import('../dist/src/infra/storage/index.js');
const { masterKeyOf } = await import('../dist/src/app/command/installation.js');
const { readBootstrap } = await import('../dist/src/app/seed/bootstrap.js');
const { starterGone } = await import('../dist/src/app/command/signals.js');

const directory = mkdtempSync(join(tmpdir(), 'troupe-cluster-'));
const dataDir = resolve(process.env.TROUPE_DATA_DIR || './.troupe');
await makeFolder(dataDir);
/** @type {(() => unknown)[]} */
const undo = [() => rmSync(directory, { recursive: true, force: true })];
/** @type {{ child: import('node:child_process').ChildProcess, name: string, ended: Promise<void> }[]} */
const running = [];
let stopping = false;
let failed = false;

for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => void stop());
if (process.env.npm_lifecycle_event === 'cluster') void starterGone().then(() => stop());

try {
  const databaseUrl = process.env.DATABASE_URL || (await ownPostgres());
  const redisUrl = process.env.REDIS_URL || (await ownRedis());
  if (example) await startExample(databaseUrl, redisUrl);
  else await startNodes(databaseUrl, redisUrl);
  await Promise.all(running.map(({ ended }) => ended));
} catch (error) {
  failed = true;
  say(`cluster: ${error instanceof Error ? error.message : String(error)}`);
  for (const { child } of running) child.kill('SIGKILL');
  await Promise.all(running.map(({ ended }) => ended));
}
for (const step of undo.toReversed()) await step();
process.exit(failed ? 1 : 0);

function words() {
  const { values } = parseArgs({
    options: { nodes: { type: 'string', default: '3' }, example: { type: 'boolean', default: false } },
  });
  const count = Number(values.nodes);
  if (!Number.isInteger(count) || count < 1 || count > 32) {
    process.stderr.write('cluster: --nodes takes a number from 1 to 32\n');
    process.exit(2);
  }
  return { nodes: count, example: values.example };
}

/** One after the other, as in a rolling restart: each gives what it holds to those that are left. */
async function stop() {
  // A second wish means that somebody does not want to wait.
  if (stopping) for (const { child } of running) child.kill('SIGKILL');
  if (stopping) return;
  stopping = true;
  say('Stopping…');
  for (const { child, ended } of running.toReversed()) {
    child.kill('SIGTERM');
    await ended;
  }
}

/**
 * The first makes the demo tenant, or finds that of `npm start`, whose data folder this is.
 * @param {string} databaseUrl
 * @param {string} redisUrl
 */
async function startNodes(databaseUrl, redisUrl) {
  const firstPort = Number(process.env.TROUPE_HTTP_PORT || '8080');
  const masterKey = process.env.TROUPE_MASTER_KEY || (await masterKeyOf(dataDir));
  /** @param {number} index */
  const start = async (index) => {
    const name = `node-${index + 1}`;
    const environment = {
      TROUPE_EGRESS_ALLOW: '127.0.0.0/8,::1/128',
      TROUPE_SIM: 'on',
      ...process.env,
      DATABASE_URL: databaseUrl,
      REDIS_URL: redisUrl,
      TROUPE_MASTER_KEY: masterKey,
      TROUPE_DATA_DIR: dataDir,
      TROUPE_NODE_ID: name,
      TROUPE_HTTP_PORT: String(firstPort === 0 ? 0 : firstPort + index),
      TROUPE_GRPC_PORT: '0',
      TROUPE_SEED: index === 0 ? process.env.TROUPE_SEED || 'demo' : 'none',
      TROUPE_LOG_LEVEL: 'info',
    };
    const program = fileURLToPath(new URL('node.mjs', import.meta.url));
    // A process group of its own: Ctrl-C reaches this process alone, which stops the nodes in order.
    const child = spawn(process.execPath, [program, 'serve'], {
      env: environment,
      stdio: ['pipe', 'pipe', 'inherit'],
      detached: true,
    });
    follow(child, name);
    return { name, url: await urlOf(child, name), pid: child.pid };
  };
  const first = await start(0);
  const others = await Promise.all(Array.from({ length: nodes - 1 }, (_, index) => start(index + 1)));
  const bootstrap = await readBootstrap(dataDir);
  say('');
  for (const { name, url, pid } of [first, ...others]) say(`  ${name.padEnd(8)}   ${url}   pid ${pid}`);
  if (bootstrap !== undefined) {
    say(`  sign in    ${bootstrap.owner.email} / ${bootstrap.owner.password}`);
    say(`  API key    ${bootstrap.api_key}`);
    say(`  all of it  ${join(dataDir, 'bootstrap.json')}`);
  }
  say('\nThe cluster is ready. Ctrl-C stops.\n');
}

/**
 * The address in the line by which a node says that it serves; problems among its other lines are passed on.
 * @param {import('node:child_process').ChildProcess} child
 * @param {string} name
 * @returns {Promise<string>}
 */
function urlOf(child, name) {
  const shown = new Set(['warn', 'error', 'fatal']);
  return new Promise((resolveUrl, reject) => {
    child.once('exit', () => reject(new Error(`${name} did not start`)));
    const lines = createInterface({ input: /** @type {import('node:stream').Readable} */ (child.stdout) });
    lines.on('line', (line) => {
      const event = eventOf(line);
      if (event?.msg === 'serving') resolveUrl(event.url);
      else if (event === undefined || shown.has(event.level)) say(`${name} ${line}`);
    });
  });
}

/** @param {string} line */
function eventOf(line) {
  try {
    return JSON.parse(line);
  } catch {
    // Not a line of the log: shown as it is.
    return undefined;
  }
}

/**
 * @param {string} databaseUrl
 * @param {string} redisUrl
 */
async function startExample(databaseUrl, redisUrl) {
  await migrate({ databaseUrl });
  const program = fileURLToPath(new URL('../dist/cluster/example/process.js', import.meta.url));
  const shared = {
    databaseUrl,
    redisUrl,
    databaseRole: 'troupe_writer',
    cluster: 'local',
    secret: 'local',
  };
  for (const port of await Promise.all(Array.from({ length: nodes }, freePort))) {
    const child = spawn(process.execPath, [program, JSON.stringify({ ...shared, port })], {
      stdio: ['ignore', 'inherit', 'inherit'],
      detached: true,
    });
    follow(child, String(child.pid));
  }
}

/**
 * @param {import('node:child_process').ChildProcess} child
 * @param {string} name
 */
function follow(child, name) {
  const ended = new Promise((resolveEnded) => {
    child.once('exit', (code, signal) => {
      if (!stopping && !failed) say(`${name} ended (${signal ?? code}); it is not started again`);
      // A stop that went well needs no word.
      else if (stopping && code !== 0) say(`${name} ended badly (${signal ?? code})`);
      resolveEnded(undefined);
    });
  });
  running.push({ child, name, ended });
}

async function ownPostgres() {
  const postgres = await startEmbeddedPostgres({ directory: join(dataDir, 'postgres') });
  undo.push(() => postgres.stop());
  return postgres.connectionString;
}

async function ownRedis() {
  const server = ['redis-server', 'valkey-server'].find(
    (name) => spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0,
  );
  if (server === undefined) throw new Error('no redis-server on the PATH; install it, or set REDIS_URL');
  const port = await freePort();
  const child = spawn(
    server,
    ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', directory],
    { stdio: 'ignore', detached: true },
  );
  undo.push(() => child.kill('SIGTERM'));
  return `redis://127.0.0.1:${port}`;
}

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolvePort, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      server.close(() => resolvePort(port));
    });
  });
}

/** @param {string} text */
function say(text) {
  process.stdout.write(`${text}\n`);
}
