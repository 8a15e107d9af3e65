#!/usr/bin/env node
// `npm run cluster -- --nodes 3`: complete nodes as real processes that share one PostgreSQL and one Redis. Prints their
// addresses, restarts none, and stops all on Ctrl-C. Uses DATABASE_URL and REDIS_URL where set; otherwise it starts its
// own. With `--example`, the processes run only the runtime with its example actor.
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

/** Decision 0237: Node's helper threads take the core from the event loop while they collect garbage. */
const oneHelperThread = '--v8-pool-size=1';

const { nodes, example } = words();
await build();
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

/** Refuses other options with those that there are. */
function optionsGiven() {
  try {
    const options = {
      nodes: { type: /** @type {const} */ ('string'), default: '3' },
      example: { type: /** @type {const} */ ('boolean'), default: false },
    };
    return parseArgs({ options }).values;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    process.stderr.write(`cluster: ${reason}\nUsage: npm run cluster -- [--nodes N] [--example]\n`);
    process.exit(2);
  }
}

function words() {
  const values = optionsGiven();
  const count = Number(values.nodes);
  if (!Number.isInteger(count) || count < 1 || count > 32) {
    process.stderr.write('cluster: --nodes must be a whole number from 1 to 32\n');
    process.exit(2);
  }
  return { nodes: count, example: values.example };
}

/** Stops one node after the other, as in a rolling restart: each hands its actors to the remaining nodes. */
async function stop() {
  // A second signal kills all nodes at once.
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
 * The first node creates the demo tenant, or reuses that of `npm start`, which has the same data folder.
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
      TROUPE_VERIFY_EMAIL: process.env.TROUPE_VERIFY_EMAIL || 'off',
      TROUPE_LOG_LEVEL: 'info',
    };
    const program = fileURLToPath(new URL('node.mjs', import.meta.url));
    // A separate process group: Ctrl-C reaches only this process, which then stops the nodes in order.
    const child = spawn(process.execPath, [oneHelperThread, program, 'serve'], {
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
    say(`  all data   ${join(dataDir, 'bootstrap.json')}`);
  }
  say('\nThe cluster is ready. Ctrl-C stops.\n');
}

/**
 * Reads the URL from the node's "serving" log line; shows the warnings and errors among its other lines.
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
    // Not a JSON log line: the caller shows it unchanged.
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
      if (!stopping && !failed) say(`${name} exited (${signal ?? code}); it will not be restarted`);
      // A clean stop is not reported.
      else if (stopping && code !== 0) say(`${name} did not stop cleanly (${signal ?? code})`);
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
  if (server === undefined) throw new Error('redis-server is not on the PATH; install it, or set REDIS_URL');
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
