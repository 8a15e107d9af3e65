// Finds the server program for tests, and installs it where that is possible without asking.

import { spawnSync } from 'node:child_process';
import { accessSync, constants, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

const programs = ['redis-server', 'valkey-server'] as const;

const howToGetOne =
  'The tests need a real Redis. Either set REDIS_URL, or put redis-server or valkey-server on the PATH ' +
  '(Debian, Ubuntu: apt-get install redis-server; macOS: brew install redis; Fedora: dnf install valkey).';

/** The path of a Redis server program; installs one as root on Debian or Ubuntu; throws with advice. */
export function redisBinary(): string {
  const found = findOnPath();
  if (found !== undefined) return found;
  if (!canInstall()) throw new Error(howToGetOne);
  const failure = install();
  const installed = findOnPath();
  if (installed !== undefined) return installed;
  throw new Error(
    `${howToGetOne}\nInstalling it here failed: ${failure ?? 'no program on the PATH after it'}`,
  );
}

function findOnPath(): string | undefined {
  for (const program of programs) {
    for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
      const candidate = join(folder, program);
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
    // No os-release: not a system whose package manager we know.
    return false;
  }
}

/**
 * Test files run in several processes at once, so the whole step is under one lock, and whoever comes second
 * finds the program there. Package lists are fetched only when the first attempt finds no package. RUNLEVEL=1
 * keeps the package from starting its own service on the default port.
 */
function install(): string | undefined {
  const attempt = 'apt-get install -y --no-install-recommends redis-server';
  const script = `command -v redis-server || ${attempt} || { apt-get update && ${attempt}; }`;
  const lock = join(tmpdir(), 'troupe-install-redis.lock');
  const result = spawnSync('flock', [lock, 'sh', '-c', script], {
    encoding: 'utf8',
    timeout: 300_000,
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
  });
  if (result.status === 0) return undefined;
  return result.error?.message ?? result.stderr.trim().split('\n').slice(-3).join('\n');
}
