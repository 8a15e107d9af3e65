// Portkey's gateway from npm, passing calls through with all features off. It reads its port from the arguments and
// prints nothing when it listens.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { createServer } from 'node:net';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { serveBench } from '../support/servers.js';

const folder = fileURLToPath(new URL('../../../bench/llm/peer/', import.meta.url));
if (!existsSync(`${folder}node_modules/.package-lock.json`)) {
  process.stderr.write('bench: installing the comparison packages, only once: npm ci in bench/llm/peer\n');
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}
const port = await freePort();
process.argv.push(`--port=${port}`, '--headless');
console.log = () => undefined;
const program = createRequire(`${folder}package.json`).resolve('@portkey-ai/gateway/build/start-server.js');
await import(pathToFileURL(program).href);
while (!(await listens(port))) await delay(50);
serveBench({ port }, () => Promise.resolve());

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
