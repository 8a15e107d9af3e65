import { installedProgram } from './installed-program.js';

/** The path of a Redis server program. */
export function redisBinary(): string {
  return installedProgram({
    names: ['redis-server', 'valkey-server'],
    debianPackage: 'redis-server',
    advice:
      'The tests need a real Redis. Either set REDIS_URL, or put redis-server or valkey-server on the PATH ' +
      '(Debian, Ubuntu: apt-get install redis-server; macOS: brew install redis; Fedora: dnf install valkey).',
  });
}
