// The script of the chat that other sites put on their pages (`widget/`), served from memory.
import { statSync } from 'node:fs';
import { z } from 'zod';
import { anyone, declare, type Match } from '../../http/operations/index.js';
import { fileReply, type PackedFile, readPacked } from '../console/index.js';

const path = '/widget.js';
/** Where `npm run build` writes it. */
const built = new URL('../../../widget/widget.js', import.meta.url);

/** Undefined if it is not built. */
export function readWidget(file: URL = built): PackedFile | undefined {
  if (statSync(file, { throwIfNoEntry: false }) === undefined) return undefined;
  return readPacked(file, 'text/javascript; charset=utf-8');
}

const headers = {
  // Its address stays the same, so pages get a new version within ten minutes.
  'Cache-Control': 'public, max-age=600, stale-while-revalidate=86400',
  // Pages with an integrity check or an isolated context may load it too.
  'Access-Control-Allow-Origin': '*',
  'Cross-Origin-Resource-Policy': 'cross-origin',
};

/** Finds the script for its address. Like the console it is not part of the API. */
export function widgetPage(
  file: PackedFile | undefined,
): (method: string, path: string) => Match | undefined {
  if (file === undefined) return () => undefined;
  const operation = declare({
    name: 'widget.script',
    method: 'GET',
    path,
    title: 'The script of the chat for pages of other sites',
    access: anyone(),
    rate: 'uncounted',
    headers: ['accept-encoding'],
    contentType: 'text/javascript',
    output: z.string(),
    handle: (request) => fileReply(file, request.headers['accept-encoding'] ?? '', headers),
  });
  return (method, asked) =>
    asked === path && (method === 'GET' || method === 'HEAD') ? { operation, params: {} } : undefined;
}
