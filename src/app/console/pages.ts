/**
 * Answers the addresses that no operation has: the files of the console, and its page for the addresses of its screens.
 * The page is not part of the API, so it is in no document and in no list of tools.
 */
import { z } from 'zod';
import { anyone, declare, type Match, type Operation, RawReply } from '../../http/operations/index.js';
import { fileReply } from './file-reply.js';
import type { ConsoleFiles } from './files.js';

/** What the build writes where the nonce of an answer belongs. */
const noncePlaceholder = '__CSP_NONCE__';

/** Browsers load scripts and styles only from this node, or styles that scripts of this node made with the nonce. */
function policyWith(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "connect-src 'self'",
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

const missing =
  'The console is not built on this node. Run "npm run build" in the folder of the program and start the node again. ' +
  'The API works without it: GET /docs lists its operations.\n';

export interface ConsolePagesParts {
  /** Undefined where the console is not built. */
  readonly files: ConsoleFiles | undefined;
  /** The operations have precedence: addresses below their first segment are never those of a screen. */
  readonly operations: readonly Operation[];
  /** Chance for the nonces. */
  readonly bytes: (count: number) => Uint8Array;
}

/** Finds the page for an address without an operation. `accept` is the header of the request. */
export function consolePages({
  files,
  operations,
  bytes,
}: ConsolePagesParts): (method: string, path: string, accept: string) => Match | undefined {
  const taken = new Set(operations.map(({ path }) => firstSegment(path)));
  const page = declare({
    name: 'console.page',
    method: 'GET',
    path: '/',
    title: 'The page of the console',
    access: anyone(),
    rate: 'uncounted',
    contentType: 'text/html',
    output: z.string(),
    handle: () => (files === undefined ? notBuilt() : indexWith(files.index, bytes)),
  });
  const asset = declare({
    name: 'console.asset',
    method: 'GET',
    path: '/assets/:name',
    title: 'A file of the console',
    access: anyone(),
    rate: 'uncounted',
    params: z.object({ path: z.string() }),
    headers: ['accept-encoding'],
    output: z.string(),
    handle: ({ params: { path }, headers }) => {
      const file = files?.assets.get(path);
      if (file === undefined) throw new Error(`the console has no file ${path}`);
      return fileReply(file, headers['accept-encoding'] ?? '', unchanging);
    },
  });
  return (method, path, accept) => {
    if (method !== 'GET' && method !== 'HEAD') return undefined;
    if (files?.assets.has(path) === true) return { operation: asset, params: { path } };
    const isScreen =
      path === '/' || (files !== undefined && accept.includes('text/html') && !taken.has(firstSegment(path)));
    return isScreen && !path.startsWith('/assets/') ? { operation: page, params: {} } : undefined;
  };
}

const unchanging = { 'Cache-Control': 'public, max-age=31536000, immutable' };
const listPlaceholder = '<!-- operations -->';

/** The page of the reference around the list of operations, which readers without scripts see; undefined if it is not built. */
export function referencePage({
  files,
  bytes,
}: Pick<ConsolePagesParts, 'files' | 'bytes'>): ((list: string) => RawReply) | undefined {
  if (files === undefined) return undefined;
  const [before = '', behind = ''] = files.reference.split(listPlaceholder);
  return (list) => indexWith(before + list + behind, bytes);
}

function firstSegment(path: string): string {
  return path.split('/', 2)[1] ?? '';
}

function notBuilt(): RawReply {
  return new RawReply('text/plain; charset=utf-8', missing, {
    status: 503,
    headers: { 'Cache-Control': 'no-store' },
  });
}

function indexWith(index: string, bytes: ConsolePagesParts['bytes']): RawReply {
  const nonce = Buffer.from(bytes(16)).toString('base64');
  return new RawReply('text/html; charset=utf-8', index.replaceAll(noncePlaceholder, nonce), {
    headers: {
      'Content-Security-Policy': policyWith(nonce),
      'Referrer-Policy': 'no-referrer',
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
      // The page names the files of one release by their hashes, so each visit asks for the present page.
      'Cache-Control': 'no-cache',
    },
  });
}
