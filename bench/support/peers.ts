import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/**
 * What the product is measured against and does not itself use lives in `bench/peers` with packages of its own: some
 * 300 MB that nobody should wait for who only wants to build. They are installed when a benchmark first needs them.
 */
const folder = fileURLToPath(new URL('../../../bench/peers/', import.meta.url));

/** The folder of the peers' programs, installed; throws when their packages cannot be had. */
export function installPeers(): string {
  if (!existsSync(`${folder}node_modules/.package-lock.json`)) {
    process.stderr.write('bench: installing what is measured against, once: npm ci in bench/peers\n');
    execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error'], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  }
  return folder;
}

export function peerProgram(name: string): string {
  return `${installPeers()}${name}`;
}

/** Restate's server comes as a program in a package for each platform. */
export function restateServer(): string {
  const from = createRequire(`${installPeers()}package.json`);
  return from.resolve(`@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`);
}
