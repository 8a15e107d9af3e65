// Holds the MCP endpoint against the public conformance suite: `node scripts/mcp-conformance.mjs`, with Node 22 or later,
// which the suite needs. It starts the product with an embedded database and gives the suite's requests a key.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import '../bin/supported-node.mjs';

const suite = '@modelcontextprotocol/conformance@0.1.16';
const root = fileURLToPath(new URL('../', import.meta.url));

/** Scenarios of the suite that apply to this server. */
const expected = [
  'server-initialize',
  'ping',
  'completion-complete',
  'tools-list',
  'server-sse-multiple-streams',
  'resources-list',
  'prompts-list',
  'dns-rebinding-protection',
];

/** Scenarios that need tools, prompts and resources of the suite's own example server, or what the platform does not offer. */
const inapplicable = {
  'logging-set-level': 'the server sends no log messages to clients; they are deprecated since 2026-07-28',
  'tools-call-simple-text': 'needs the tool test_simple_text',
  'tools-call-image': 'needs the tool test_image_content',
  'tools-call-audio': 'needs the tool test_audio_content',
  'tools-call-embedded-resource': 'needs the tool test_embedded_resource',
  'tools-call-mixed-content': 'needs the tool test_multiple_content_types',
  'tools-call-with-logging': 'needs the tool test_tool_with_logging',
  'tools-call-error': 'needs the tool test_error_handling',
  'tools-call-with-progress': 'needs the tool test_tool_with_progress',
  'tools-call-sampling': 'the server asks clients for no samples',
  'tools-call-elicitation': 'the server asks clients for no input',
  'elicitation-sep1034-defaults': 'the server asks clients for no input',
  'elicitation-sep1330-enums': 'the server asks clients for no input',
  'resources-read-text': 'needs the resource test://static-text',
  'resources-read-binary': 'needs the resource test://static-binary',
  'resources-templates-read': 'needs the template test://template/{id}/data',
  'resources-subscribe': 'requests are independent; this revision could not deliver updates over HTTP',
  'resources-unsubscribe': 'requests are independent; this revision could not deliver updates over HTTP',
  'prompts-get-simple': 'needs the prompt test_simple_prompt',
  'prompts-get-with-args': 'needs the prompt test_prompt_with_arguments',
  'prompts-get-embedded-resource': 'needs the prompt test_prompt_with_embedded_resource',
  'prompts-get-with-image': 'needs the prompt test_prompt_with_image',
};

const startMsMax = 120_000;
const dataDir = mkdtempSync(join(tmpdir(), 'troupe-conformance-'));
const bootstrapFile = join(dataDir, 'bootstrap.json');
const product = spawn(process.execPath, [`${root}bin/start.mjs`], {
  env: { ...process.env, TROUPE_DATA_DIR: dataDir, TROUPE_HTTP_PORT: '0' },
  stdio: ['ignore', 'pipe', 'inherit'],
});
// From the start: a product that fails early has ended before anybody waits for it.
const ended = new Promise((resolve) => product.once('exit', resolve));
let output = '';
product.stdout.setEncoding('utf8').on('data', (data) => (output += data));

let failed = true;
let proxy;
try {
  const baseUrl = await started();
  proxy = await withKey(baseUrl, JSON.parse(readFileSync(bootstrapFile, 'utf8')).api_key);
  failed = !(await run(proxy.url));
} finally {
  proxy?.close();
  product.kill('SIGTERM');
  await ended;
  rmSync(dataDir, { recursive: true, force: true });
}
process.exit(failed ? 1 : 0);

async function started() {
  const until = Date.now() + startMsMax;
  while (Date.now() < until) {
    const url = /ready at (http:\/\/\S+)/.exec(output)?.[1];
    if (url !== undefined && existsSync(bootstrapFile)) return url;
    if (product.exitCode !== null || product.signalCode !== null) break;
    await delay(100);
  }
  throw new Error(`the product did not start:\n${output}`);
}

/** The suite sends no credential of its own. */
function withKey(baseUrl, key) {
  const { hostname, port } = new URL(baseUrl);
  const server = createServer((incoming, outgoing) => {
    const headers = { ...incoming.headers, 'x-api-key': key };
    const upstream = request(
      { hostname, port, path: incoming.url, method: incoming.method, headers },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      },
    );
    upstream.on('error', () => outgoing.destroy());
    outgoing.on('close', () => upstream.destroy());
    incoming.pipe(upstream);
  });
  return new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () =>
      resolve({
        url: `http://127.0.0.1:${server.address().port}/mcp`,
        close: () => server.closeAllConnections(),
      }),
    ),
  );
}

async function run(url) {
  const child = spawn('npx', ['--yes', '-p', suite, 'conformance', 'server', '--url', url], {
    env: withoutNpmSettings(),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  // The mark before each name has several bytes, which may come in two pieces.
  child.stdout.setEncoding('utf8').on('data', (data) => (text += data));
  await new Promise((resolve) => child.once('close', resolve));
  const results = new Map(
    [...text.matchAll(/^(\S) ([\w-]+): (\d+) passed, (\d+) failed/gm)].map(([, , name, , bad]) => [
      name,
      bad === '0',
    ]),
  );
  if (results.size === 0) console.error(`conformance: the suite printed no result:\n${text.slice(-3_000)}`);
  const wrong = expected.filter((name) => results.get(name) !== true);
  const unlisted = [...results.keys()].filter((name) => !expected.includes(name) && !(name in inapplicable));
  for (const name of wrong) console.error(`conformance: ${name} fails`);
  for (const name of unlisted) console.error(`conformance: ${name} is new; add it to a list in this script`);
  console.log(
    `conformance: ${expected.length - wrong.length} of ${expected.length} scenarios that apply pass, ${Object.keys(inapplicable).length} do not apply`,
  );
  return wrong.length === 0 && unlisted.length === 0;
}

/** Run by npx itself, this script would hand its own package on to the inner npx. */
function withoutNpmSettings() {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => name !== 'npm_config_package'));
}
