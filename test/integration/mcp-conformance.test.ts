import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import test from 'ava';

const root = fileURLToPath(new URL('../../../', import.meta.url));

test('the check of MCP fails at once, with the reason, if the product ends at its start', (t) => {
  const { status, signal, stderr } = spawnSync(process.execPath, ['scripts/mcp-conformance.mjs'], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, TROUPE_LOG_LEVEL: 'no level' },
    timeout: 90_000,
  });
  t.is(signal, null);
  t.is(status, 1, stderr);
  t.regex(stderr, /the product did not start/);
});
