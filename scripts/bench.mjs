// Runs one benchmark: `npm run bench:edge`, or `node scripts/bench.mjs <folder> [arguments]`.
import '../bin/supported-node.mjs';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from './build.mjs';

await build();
const [name = '', ...rest] = process.argv.slice(2);
const program = fileURLToPath(new URL(`../dist/bench/${name}/run.js`, import.meta.url));
if (name === '' || !existsSync(program)) {
  const folders = readdirSync(fileURLToPath(new URL('../bench', import.meta.url))).filter(
    (one) => !one.includes('.') && one !== 'support',
  );
  process.stderr.write(`bench: unknown benchmark "${name}"; use one of ${folders.join(', ')}\n`);
  process.exit(2);
}
process.exit(
  spawnSync(process.execPath, [...process.execArgv, program, ...rest], { stdio: 'inherit' }).status ?? 1,
);
