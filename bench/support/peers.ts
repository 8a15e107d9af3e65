import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/**
 * Packages that are only used for comparison are kept in `bench/peers`: some 300 MB, installed when a benchmark first
 * needs them, so that a normal build does not wait for them.
 */
const folder = fileURLToPath(new URL('../../../bench/peers/', import.meta.url));

/** The folder of the peer programs, with their packages installed; throws if the installation fails. */
export function installPeers(): string {
  if (!existsSync(`${folder}node_modules/.package-lock.json`)) {
    process.stderr.write('bench: installing the comparison packages, only once: npm ci in bench/peers\n');
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

/** Restate's server is a binary in one package per platform. */
export function restateServer(): string {
  const from = createRequire(`${installPeers()}package.json`);
  return from.resolve(`@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`);
}
