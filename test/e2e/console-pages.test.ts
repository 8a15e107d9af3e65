import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import test from 'ava';
import { readConsole } from '../../src/app/console/index.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly bytes: Buffer;
}

/** Without the unpacking and the default headers of `fetch`. */
function get(url: string, headers: Readonly<Record<string, string>> = {}, method = 'GET'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { headers, method }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          bytes: Buffer.concat(chunks),
        }),
      );
    });
    sent.on('error', reject);
    sent.end();
  });
}

const navigation = { accept: 'text/html,application/xhtml+xml' };

test('the addresses of screens show the page under a strict policy', async (t) => {
  const { client } = await shared.tenant(t);
  const nonces = new Set<string>();
  for (const path of ['/', '/inbox', '/agents/0f1e', '/sign-in']) {
    const { status, headers, bytes } = await get(`${client.baseUrl}${path}`, navigation);
    t.is(status, 200, path);
    t.is(headers['content-type'], 'text/html; charset=utf-8');
    t.is(headers['cache-control'], 'no-cache');
    const policy = String(headers['content-security-policy']);
    t.notRegex(policy, /unsafe|\*|https?:/);
    t.regex(policy, /script-src 'self'(?:;|$)/);
    const nonce = /'nonce-([^']+)'/.exec(policy)?.[1] ?? '';
    t.true(bytes.toString().includes(`nonce="${nonce}"`));
    t.false(bytes.toString().includes('__CSP_NONCE__'));
    t.notRegex(bytes.toString(), /<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=/);
    nonces.add(nonce);
  }
  t.is(nonces.size, 4, 'each answer has a nonce of its own');
});

test('unknown addresses of the API, and requests that are no navigation, keep their 404', async (t) => {
  const { client } = await shared.tenant(t);
  for (const path of ['/api/nothing', '/v1/nothing', '/mcp/nothing', '/docs/nothing', '/assets/nothing.js']) {
    const { status, headers } = await get(`${client.baseUrl}${path}`, navigation);
    t.is(status, 404, path);
    t.regex(String(headers['content-type']), /json/);
  }
  t.is((await get(`${client.baseUrl}/inbox`, { accept: 'application/json' })).status, 404);
  t.is((await get(`${client.baseUrl}/inbox`, navigation, 'POST')).status, 404);
});

test('files are immutable, packed as the browser accepts, and equal in each coding', async (t) => {
  const { client } = await shared.tenant(t);
  const page = (await get(`${client.baseUrl}/`)).bytes.toString();
  const paths = [...page.matchAll(/\/assets\/[\w.-]+\.(?:js|css)/g)].map(([path]) => path);
  t.true(paths.length > 2);
  for (const path of paths) {
    const url = `${client.baseUrl}${path}`;
    const plain = await get(url);
    t.is(plain.headers['content-encoding'], undefined);
    t.is(plain.headers['cache-control'], 'public, max-age=31536000, immutable');
    t.is(plain.headers['vary'], 'Accept-Encoding');
    const brotli = await get(url, { 'accept-encoding': 'gzip, deflate, br' });
    t.is(brotli.headers['content-encoding'], 'br');
    t.deepEqual(brotliDecompressSync(brotli.bytes), plain.bytes);
    const gzip = await get(url, { 'accept-encoding': 'gzip, br;q=0' });
    t.is(gzip.headers['content-encoding'], 'gzip');
    t.deepEqual(gunzipSync(gzip.bytes), plain.bytes);
    const head = await get(url, { 'accept-encoding': 'br' }, 'HEAD');
    t.is(head.status, 200);
    t.is(head.bytes.length, 0);
  }
});

/** The first load as compressed, and what it may take. */
const firstLoadMax = 250 * 1024;

test('the first load of the overview stays below its limit', (t) => {
  const files = readConsole();
  const manifest = JSON.parse(readFileSync('dist/console/.vite/manifest.json', 'utf8')) as Readonly<
    Record<string, { file: string; imports?: string[]; css?: string[] }>
  >;
  const needed = new Set<string>();
  const visit = (key: string): void => {
    const chunk = manifest[key];
    if (chunk === undefined || needed.has(chunk.file)) return;
    needed.add(chunk.file);
    for (const style of chunk.css ?? []) needed.add(style);
    for (const next of chunk.imports ?? []) visit(next);
  };
  for (const key of ['index.html', 'src/frame/frame.tsx', 'src/screens/overview/overview.tsx']) {
    t.truthy(manifest[key], key);
    visit(key);
  }
  const bytes = [...needed].reduce(
    (sum, file) => sum + (files?.assets.get(`/${file}`)?.packed.get('br')?.length ?? Number.NaN),
    0,
  );
  t.log(`${needed.size} files, ${Math.round(bytes / 1024)} KB with brotli`);
  t.true(bytes < firstLoadMax, `${bytes} bytes`);
});

test('a folder without a built console is no console', (t) => {
  t.is(readConsole(new URL('file:///nowhere/')), undefined);
});
