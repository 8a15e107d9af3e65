// The words for failures that a test cannot bring about everywhere.
import test from 'ava';
import { folderProblem } from '../../../../src/app/command/data-folder.js';
import { serviceProblem } from '../../../../src/app/command/services.js';
import { EmbeddedPostgresError } from '../../../../src/infra/storage/index.js';

const failure = (code: string, path?: string): Error =>
  Object.assign(new Error(`${code}: it failed`), path === undefined ? { code } : { code, path });

test("a full disk is recognised in a write, a quota, and PostgreSQL's messages", (t) => {
  for (const error of [
    failure('ENOSPC'),
    new Error('the key was not written', { cause: failure('ENOSPC') }),
    new EmbeddedPostgresError('not-started', 'FATAL: could not write: No space left on device'),
    new EmbeddedPostgresError('not-started', 'FATAL: could not extend file | HINT: Check free disk space.'),
  ]) {
    t.regex(
      folderProblem('/data', error)?.message ?? '',
      /^the data folder \/data cannot be used: the disk is full\. Free some space, or set TROUPE_DATA_DIR/,
    );
  }
  t.regex(folderProblem('/data', failure('EDQUOT'))?.message ?? '', /disk quota is used up/);
});

test('an error of a file elsewhere is not reported as one of the data folder', (t) => {
  t.is(folderProblem('/data', failure('EACCES', '/etc/models.json')), undefined);
  t.is(folderProblem('/data', failure('ENOENT', '/database')), undefined);
  t.is(folderProblem('/data', new Error('something else')), undefined);
  t.truthy(folderProblem('/data', failure('EACCES', '/data/master.key')));
  t.truthy(folderProblem('/data/deep', failure('EROFS', '/data')));
});

test('a refusing service is reported with reason, place and setting, and never the password', (t) => {
  const redis = { variable: 'REDIS_URL', url: 'redis://:planted@redis.internal:6379' };
  const postgres = { variable: 'DATABASE_URL', url: 'postgresql://a:planted@db.internal:5432/x' };
  for (const [place, error, words] of [
    [
      redis,
      new Error('WRONGPASS invalid username-password pair'),
      /redis\.internal:6379 refuses the password/,
    ],
    [
      redis,
      new Error('NOAUTH Authentication required.'),
      /refuses the password\. Correct it, or correct REDIS_URL/,
    ],
    [redis, new Error('ERR DB index is out of range'), /has no database of this number/],
    [postgres, failure('28P01'), /db\.internal:5432 refuses the user or the password/],
    [postgres, new Error('The server does not support SSL connections'), /does not support TLS/],
    [postgres, failure('57P03'), /is starting or stopping/],
    [postgres, new Error('something new'), /cannot be used: \(something new\)/],
  ] as const) {
    const { message } = serviceProblem(place, error);
    t.regex(message, words);
    t.true(message.includes(`the server in ${place.variable}`), message);
    t.false(message.includes('planted'), message);
  }
});
