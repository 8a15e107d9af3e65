/**
 * A page to talk to agents. Its files are the same for everybody, and it uses only the public API. The content security
 * policy lets the browser run and load only these files and connect only to this node.
 */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { anyone, declare, type Operation, RawReply } from '../../http/operations/index.js';

const headers: Readonly<Record<string, string>> = {
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'Referrer-Policy': 'no-referrer',
  // Revalidate, so that a new release shows at once.
  'Cache-Control': 'no-cache',
};

const files = [
  { path: '/playground', name: 'page', file: 'playground.html', contentType: 'text/html' },
  {
    path: '/playground/playground.js',
    name: 'script',
    file: 'playground.js',
    contentType: 'text/javascript',
  },
  {
    path: '/playground/turn-stream.js',
    name: 'stream',
    file: 'turn-stream.js',
    contentType: 'text/javascript',
  },
  { path: '/playground/playground.css', name: 'style', file: 'playground.css', contentType: 'text/css' },
] as const;

/** The compiler does not copy browser files, so they are read from the sources, which every installation has. */
const folder = new URL('../../../../src/app/playground/page/', import.meta.url);

/** Reads the files once at the start, so that a missing file fails the start and not a request. */
export function playgroundOperations(): readonly Operation[] {
  return files.map(({ path, name, file, contentType }) => {
    const text = readFileSync(new URL(file, folder), 'utf8');
    return declare({
      name: `playground.${name}`,
      method: 'GET',
      path,
      title: name === 'page' ? 'A page to talk to agents' : `The ${name} of the playground`,
      access: anyone(),
      rate: 'uncounted',
      contentType,
      output: z.string(),
      handle: () => new RawReply(`${contentType}; charset=utf-8`, text, { headers }),
    });
  });
}
