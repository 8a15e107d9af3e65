// Packs @troupe/client, installs it into an empty folder, and runs one program with it in Node, Bun, Deno and a browser of
// another origin, each against a node and through connections that are cut after every event: `npm run check:client`.
import '../bin/supported-node.mjs';
import { spawn, spawnSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startProduct } from '../interop/product.mjs';
import { build } from './build.mjs';

const root = fileURLToPath(new URL('../', import.meta.url));
const here = join(root, 'client/check');
const bound = { timeout: 120_000 };
/** @type {(() => unknown)[]} */
const undo = [];

if (!existsSync(join(here, 'node_modules/.package-lock.json'))) {
  process.stderr.write('client: installing Bun and Deno, only once: npm ci in client/check\n');
  run('npm', ['ci', '--ignore-scripts', '--loglevel', 'error'], { cwd: here });
}
await build();
const { CuttingProxy } = await import('../dist/test/support/servers/cutting-proxy.js');
const { openBrowser } = await import('../dist/test/support/clients/browser.js');
try {
  await check();
} catch (error) {
  process.stderr.write(`client: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  for (const step of undo.toReversed()) await step();
}

async function check() {
  const folder = installed();
  checkTypes(folder);
  const site = await siteOf(folder);
  const product = await startProduct({ TROUPE_CORS_ORIGINS: site.origin });
  undo.push(() => product.stop());
  const proxy = await CuttingProxy.before(product.baseUrl, () => ({ events: 1 }));
  // The program is elsewhere: connections that have come to their place are cut soon after.
  const cutting = setInterval(() => proxy.cut(), 50);
  undo.push(() => (clearInterval(cutting), proxy.close()));
  const agents = {
    agentId: await publishedAgent(product, 'eight-words', 'sim.lorem-8-5'),
    longAgentId: await publishedAgent(product, 'many-words', 'sim.lorem-200-20'),
  };
  const secret = 'whsec_dGVzdA==';
  const given = { baseUrl: product.baseUrl, cutUrl: proxy.url, apiKey: product.key, ...agents, secret };
  const text = JSON.stringify(given);
  const deno = ['run', '--quiet', '--no-prompt', '--allow-net', '--allow-read', 'main.mjs', text];
  const runtimes = {
    Node: () => output(process.execPath, ['main.mjs', text], folder),
    Bun: () => output(binary('@oven', /^bun-linux|^bun-darwin/, 'bin/bun'), ['main.mjs', text], folder),
    Deno: () => output(binary('@deno', /^linux|^darwin/, 'deno'), deno, folder),
    'a browser': () => inBrowser(site.origin, given),
  };
  for (const [runtime, start] of Object.entries(runtimes)) {
    const before = proxy.connections;
    judge(runtime, JSON.parse(await start()), secret);
    const connections = proxy.connections - before;
    if (connections < 8) throw new Error(`${runtime}: ${connections} connections: nothing was cut`);
    process.stdout.write(`client: ${runtime}: whole over ${connections} connections\n`);
  }
}

/** @param {string} runtime @param {Record<string, unknown>} result @param {string} secret */
function judge(runtime, { events, ...result }, secret) {
  const mac = createHmac('sha256', secret).update('1700000000.body').digest('hex');
  const expected = {
    agents: true,
    isWhole: true,
    last: 'done',
    outcome: 'COMPLETED',
    hasText: true,
    reason: 'left',
    told: true,
    refusal: 'invalid_api_key',
    signature: `sha256=${mac}`,
  };
  if (JSON.stringify(result) !== JSON.stringify(expected) || Number(events) < 8)
    throw new Error(
      `${runtime}: ${JSON.stringify({ events, ...result })}, expected ${JSON.stringify(expected)}`,
    );
}

/** The packed client in an empty folder, as `npm install` lays it. */
function installed() {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-client-'));
  undo.push(() => rmSync(folder, { recursive: true, force: true }));
  const words = ['pack', '--workspace', 'client', '--ignore-scripts', '--json', '--pack-destination', folder];
  const [{ filename, files }] = JSON.parse(run('npm', words, { cwd: root, stdio: 'pipe' }));
  const foreign = files
    .map(({ path }) => path)
    .filter((path) => !/^dist\/.*\.(?:js|d\.ts)$|^README\.md$|^package\.json$/.test(path));
  if (foreign.length > 0) throw new Error(`the package holds ${foreign.join(', ')}`);
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  run(
    'npm',
    ['install', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel', 'error', `./${filename}`],
    { cwd: folder },
  );
  const others = readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'));
  // `openapi-fetch` brings the types that it shares with its generator.
  const known = ['@troupe', 'openapi-fetch', 'openapi-typescript-helpers'];
  if (others.some((name) => !known.includes(name))) throw new Error(`it depends on ${others.join(', ')}`);
  for (const name of ['main.mjs', 'program.mjs', 'typed.mts'])
    copyFileSync(join(here, name), join(folder, name));
  return folder;
}

/** @param {string} folder */
function checkTypes(folder) {
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const flags = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--ignoreConfig', '--types', ''];
  const target = [
    '--target',
    'es2023',
    '--lib',
    'es2023,dom,dom.iterable,dom.asynciterable',
    '--module',
    'nodenext',
  ];
  run(process.execPath, [compiler, ...flags, ...target, 'typed.mts'], { cwd: folder });
  process.stdout.write('client: the types are those of a strict program\n');
}

/** @param {{ baseUrl: string, key: string }} product @param {string} name @param {string} model */
async function publishedAgent({ baseUrl, key }, name, model) {
  const { createClient } = await import('@troupe/client');
  const troupe = createClient({ baseUrl, apiKey: key });
  const { data } = await troupe.agents.create({ body: { name, llm_config: { model } } });
  await troupe.agents.publish({ path: { id: data.id } });
  return data.id;
}

/**
 * The program of a runtime that came from npm for this machine.
 * @param {string} scope @param {RegExp} name @param {string} path
 */
function binary(scope, name, path) {
  const folder = join(here, 'node_modules', scope);
  const found = existsSync(folder) ? readdirSync(folder).filter((one) => name.test(one)) : [];
  const program = found.map((one) => join(folder, one, path)).find((one) => existsSync(one) && starts(one));
  if (program === undefined) throw new Error(`${scope} brings no program for this machine`);
  return program;
}

/** Packages for several processors may be there. @param {string} program */
function starts(program) {
  return spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0;
}

/** The page of another origin: modules are found by an import map, as pages without a bundler have it. @param {string} folder */
async function siteOf(folder) {
  const imports = {
    '@troupe/client': '/node_modules/@troupe/client/dist/index.js',
    'openapi-fetch': '/node_modules/openapi-fetch/dist/index.mjs',
  };
  const page = `<!doctype html><script type="importmap">${JSON.stringify({ imports })}</script><link rel="icon" href="data:,">`;
  const types = { '.js': 'text/javascript', '.mjs': 'text/javascript' };
  const server = createServer((request, response) => {
    const type = types[extname(request.url ?? '')];
    response.writeHead(200, { 'content-type': type ?? 'text/html' });
    response.end(type === undefined ? page : readFileSync(join(folder, request.url ?? '')));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  undo.push(() => (server.closeAllConnections(), server.close()));
  const address = server.address();
  return { origin: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}` };
}

/** @param {string} origin @param {object} given */
async function inBrowser(origin, given) {
  const page = await openBrowser({ teardown: (step) => void undo.push(step) });
  await page.goto(origin);
  const words = `import('/program.mjs').then(({ program }) => program(${JSON.stringify(given)}))`;
  return JSON.stringify(await page.evaluate(words));
}

/** What a program prints, while this process goes on cutting. @param {string} program @param {readonly string[]} words @param {string} cwd */
function output(program, words, cwd) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, words, { cwd, stdio: ['ignore', 'pipe', 'inherit'], ...bound });
    let text = '';
    child.stdout.on('data', (data) => (text += String(data)));
    child.once('error', reject);
    // Not at its exit: what it printed last may still be on its way.
    child.once('close', (code, signal) =>
      code === 0 ? resolve(text) : reject(new Error(`${program} ended with ${code ?? signal}: ${text}`)),
    );
  });
}

/** @param {string} command @param {readonly string[]} words @param {object} options */
function run(command, words, options) {
  const { status, stdout } = spawnSync(command, words, { stdio: 'inherit', encoding: 'utf8', ...options });
  if (status !== 0) throw new Error(`${command} ${words.join(' ')} failed`);
  return stdout;
}
