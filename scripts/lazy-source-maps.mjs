// Loaded by ava in each process that runs a test file. Ava lets Node read the source map of each module at its load, which
// takes 0.4 s of a core for the modules of a node. Here a map is read when an error's stack names its file.
import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

process.setSourceMapsEnabled(false);
/** @type {Map<string, SourceMap | undefined>} by path */
const maps = new Map();
Error.prepareStackTrace = (error, sites) => [headOf(error), ...sites.map(frameOf)].join('\n    at ');

function headOf(error) {
  try {
    return Error.prototype.toString.call(error);
  } catch {
    return 'Error'; // a name or a message that throws
  }
}

/** The text of a frame, with its place in the source. */
function frameOf(site) {
  const text = String(site);
  const name = site.getFileName();
  if (typeof name !== 'string' || !name.startsWith('file:') || name.includes('/node_modules/')) return text;
  const [line, column] = [site.getLineNumber(), site.getColumnNumber()];
  const path = fileURLToPath(name);
  const entry = mapOf(path)?.findEntry(line - 1, column - 1);
  if (entry?.originalSource === undefined) return text;
  const place = `${resolve(dirname(path), entry.originalSource)}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
  return text.replace(`${name}:${line}:${column}`, `file://${place}`);
}

function mapOf(path) {
  if (!maps.has(path)) maps.set(path, readMap(`${path}.map`));
  return maps.get(path);
}

function readMap(path) {
  try {
    return new SourceMap(JSON.parse(readFileSync(path, 'utf8')));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
