// One node as `troupe serve` runs it, without the build that the command does first.
import type { ServeParts } from '../../../src/app/command/serve.js';

process.env['UWS_HTTP_MAX_HEADERS_SIZE'] ??= '16384';

// Nodes end with their test process, however it ended: remaining ones would slow down all other tests.
const starter = process.ppid;
setInterval(() => {
  if (process.ppid !== starter) process.exit(1);
}, 1_000).unref();

const [command] = process.argv.slice(2);
const parts = process.env['TROUPE_TEST_NODE_PARTS'];
if (command === 'serve' && parts !== undefined) {
  const { serve } = await import('../../../src/app/command/serve.js');
  await serve(process.env, JSON.parse(parts) as ServeParts);
} else {
  const { run } = await import('../../../src/app/command/main.js');
  await run(process.argv.slice(2));
}
