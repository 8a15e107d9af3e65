import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import tailwind from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

const outDir = '../dist/console';

/** Writes the packed forms beside each file, so that the node packs nothing while it serves. */
function packed(): Plugin {
  return {
    name: 'packed',
    writeBundle() {
      const folder = join(import.meta.dirname, outDir, 'assets');
      for (const name of readdirSync(folder)) {
        if (!/\.(?:js|css|svg)$/.test(name)) continue;
        const bytes = readFileSync(join(folder, name));
        const params = {
          // 11 saves another 4 % and takes seconds of each first start.
          [constants.BROTLI_PARAM_QUALITY]: 9,
          [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
        };
        writeFileSync(join(folder, `${name}.br`), brotliCompressSync(bytes, { params }));
        writeFileSync(join(folder, `${name}.gz`), gzipSync(bytes, { level: 9 }));
      }
    },
  };
}

export default defineConfig({
  root: import.meta.dirname,
  // Its sources: the console is built while the client is compiled.
  resolve: { alias: { '@troupe/client': join(import.meta.dirname, '../client/src/index.ts') } },
  plugins: [react(), tailwind(), packed()],
  // The node puts the nonce of each answer in its place.
  html: { cspNonce: '__CSP_NONCE__' },
  build: {
    outDir,
    emptyOutDir: true,
    target: 'es2022',
    // Styles and pictures stay files: the policy of the page allows no style in an attribute.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    // The editor with its languages, which loads when a screen opens it.
    chunkSizeWarningLimit: 700,
    // The check of the first load reads which file needs which.
    manifest: true,
    // The console, and the reference of the API.
    rolldownOptions: {
      input: ['index.html', 'docs.html'].map((name) => join(import.meta.dirname, name)),
      output: {
        // The addresses of all screens are in the first load, and each screen imports its own: as files of their own they,
        // and the icons, would be some twenty further requests, each with half a kilobyte of headers.
        codeSplitting: {
          includeDependenciesRecursively: false,
          groups: [
            {
              name: 'addresses',
              test: /console\/src\/(?:screens\/.*routes|routing\/\w+|frame\/entries)\.tsx?$/,
            },
            { name: 'icons', test: /node_modules\/lucide-react/ },
          ],
        },
      },
    },
  },
});
