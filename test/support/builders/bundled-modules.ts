// Modules of the console and of the widget, which name their imports as a bundler reads them, in this process.
import { resolve } from 'node:path';
import { build } from 'vite';

const virtual = 'virtual:modules';

/** What the files export, as one new instance: globals that they use are those of the moment. */
export async function bundledModules<Exports>(...files: readonly string[]): Promise<Exports> {
  const made = await build({
    logLevel: 'silent',
    configFile: false,
    resolve: { alias: { '@troupe/client': resolve('client/src/index.ts') } },
    plugins: [
      {
        name: 'modules',
        resolveId: (id) => (id === virtual ? id : undefined),
        load: (id) =>
          id === virtual
            ? files.map((file) => `export * from ${JSON.stringify(resolve(file))};`).join('\n')
            : undefined,
      },
    ],
    build: {
      write: false,
      minify: false,
      rolldownOptions: { input: virtual, preserveEntrySignatures: 'strict' },
    },
  });
  const [bundle] = Array.isArray(made) ? made : [made];
  if (bundle === undefined || !('output' in bundle)) throw new Error('Vite made no bundle');
  const [{ code }] = bundle.output;
  return (await import(`data:text/javascript;base64,${Buffer.from(code).toString('base64')}`)) as Exports;
}
