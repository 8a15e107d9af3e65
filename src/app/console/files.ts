import { readdirSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The content codings of a file, best first; the build writes the packed ones beside the file. */
export const codings = [
  { name: 'br', suffix: '.br' },
  { name: 'gzip', suffix: '.gz' },
] as const;

export interface PackedFile {
  readonly contentType: string;
  readonly bytes: Uint8Array;
  /** By the name of the coding. */
  readonly packed: ReadonlyMap<string, Uint8Array>;
}

export interface ConsoleFiles {
  /** The page that starts the console, with `noncePlaceholder` in it. */
  readonly index: string;
  /** The page of the reference, with `noncePlaceholder` and a place for the list of operations in it. */
  readonly reference: string;
  /** By path, `/assets/…`. Their names contain a hash of their content. */
  readonly assets: ReadonlyMap<string, PackedFile>;
}

const contentTypes: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json; charset=utf-8',
  '.woff2': 'font/woff2',
};

/** Where `npm run build` writes the console. */
const built = new URL('../../../console/', import.meta.url);

/** Reads the built console, so that no request waits for the disk. Returns undefined if it is not built. */
export function readConsole(folder: URL = built): ConsoleFiles | undefined {
  const page = new URL('index.html', folder);
  if (statSync(page, { throwIfNoEntry: false }) === undefined) return undefined;
  const assets = new Map<string, PackedFile>();
  const shelf = new URL('assets/', folder);
  const names = new Set(readdirSync(fileURLToPath(shelf)));
  for (const name of names) {
    const contentType = contentTypes[/\.[a-z0-9]+$/.exec(name)?.[0] ?? ''];
    if (contentType === undefined) continue;
    assets.set(`/assets/${name}`, readPacked(new URL(name, shelf), contentType));
  }
  const reference = readFileSync(new URL('docs.html', folder), 'utf8');
  return { index: readFileSync(page, 'utf8'), reference, assets };
}

/** A file with the packed forms that the build wrote beside it. */
export function readPacked(file: URL, contentType: string): PackedFile {
  const packed = new Map<string, Uint8Array>();
  for (const { name, suffix } of codings) {
    const form = new URL(file.href + suffix);
    if (statSync(form, { throwIfNoEntry: false }) !== undefined) packed.set(name, readFileSync(form));
  }
  return { contentType, bytes: readFileSync(file), packed };
}
