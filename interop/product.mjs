// The product as a user starts it: its own process, an embedded database, the demo tenant.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const startMsMax = 180_000;
const root = fileURLToPath(new URL('../', import.meta.url));

/** Resolves once the product answers; `stop` ends it and removes its data. */
export async function startProduct(environment) {
  const dataDir = mkdtempSync(join(tmpdir(), 'troupe-interop-'));
  const bootstrapFile = join(dataDir, 'bootstrap.json');
  const child = spawn(process.execPath, [`${root}bin/start.mjs`], {
    env: { ...process.env, ...environment, TROUPE_DATA_DIR: dataDir, TROUPE_HTTP_PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output = (output + chunk).slice(-20_000);
  });
  let ended = false;
  child.once('exit', () => {
    ended = true;
  });
  const endsAt = Date.now() + startMsMax;
  while (!existsSync(bootstrapFile)) {
    if (ended) throw new Error(`the product ended at its start:\n${output}`);
    if (Date.now() > endsAt) throw new Error(`the product did not start within ${startMsMax} ms`);
    await delay(50);
  }
  const { base_url: baseUrl, api_key: key } = JSON.parse(readFileSync(bootstrapFile, 'utf8'));
  const stop = async () => {
    if (!ended) {
      child.kill('SIGTERM');
      await new Promise((resolve) => child.once('exit', resolve));
    }
    rmSync(dataDir, { recursive: true, force: true });
  };
  return { baseUrl, key, stop };
}
