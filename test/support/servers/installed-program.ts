// Finds programs that tests need from outside, and installs them where that is possible without asking.

import { spawnSync } from 'node:child_process';
import { accessSync, constants, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

export interface WantedProgram {
  /** Any of these names on the PATH will do. */
  readonly names: readonly string[];
  /** The Debian package that brings one of them. */
  readonly debianPackage: string;
  /** The message if the program is missing and cannot be installed. */
  readonly advice: string;
}

/** The path of the program; installs it as root on Debian or Ubuntu; throws with advice. */
export function installedProgram({ names, debianPackage, advice }: WantedProgram): string {
  const found = findOnPath(names);
  if (found !== undefined) return found;
  if (!canInstall()) throw new Error(advice);
  const failure = install(names, debianPackage);
  const installed = findOnPath(names);
  if (installed !== undefined) return installed;
  throw new Error(`${advice}\nInstalling it here failed: ${failure ?? 'no program on the PATH after it'}`);
}

function findOnPath(names: readonly string[]): string | undefined {
  for (const name of names) {
    for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
      const candidate = join(folder, name);
      if (folder !== '' && isExecutable(candidate)) return candidate;
    }
  }
  return undefined;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    // Absent or not ours to run: for the search both mean "not here".
    return false;
  }
}

function canInstall(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  try {
    return /^ID(?:_LIKE)?=.*\b(?:debian|ubuntu)\b/m.test(readFileSync('/etc/os-release', 'utf8'));
  } catch {
    // No os-release: not a system with a known package manager.
    return false;
  }
}

/**
 * Test files run in several processes at once, so the whole step is under one lock, and the second process finds the
 * program there. Package lists are fetched only when the first attempt finds no package. RUNLEVEL=1 keeps packages from
 * starting services on their default ports.
 */
function install(names: readonly string[], debianPackage: string): string | undefined {
  const attempt = `apt-get install -y --no-install-recommends ${debianPackage}`;
  const script = `command -v ${names[0]} || ${attempt} || { apt-get update && ${attempt}; }`;
  const lock = join(tmpdir(), 'troupe-install-programs.lock');
  const result = spawnSync('flock', [lock, 'sh', '-c', script], {
    encoding: 'utf8',
    timeout: 600_000,
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
  });
  if (result.status === 0) return undefined;
  return result.error?.message ?? result.stderr.trim().split('\n').slice(-3).join('\n');
}
