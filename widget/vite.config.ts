import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

const outDir = '../dist/widget';

/** Writes the packed forms beside the file, so that the node packs nothing while it serves. */
function packed(): Plugin {
  return {
    name: 'packed',
    writeBundle() {
      const file = join(import.meta.dirname, outDir, 'widget.js');
      const bytes = readFileSync(file);
      writeFileSync(`${file}.br`, brotliCompressSync(bytes));
      writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
    },
  };
}

export default defineConfig({
  root: import.meta.dirname,
  plugins: [packed()],
  build: {
    outDir,
    emptyOutDir: true,
    target: 'es2022',
    reportCompressedSize: false,
    lib: { entry: 'src/main.ts', formats: ['iife'], name: 'troupe', fileName: () => 'widget.js' },
  },
});
