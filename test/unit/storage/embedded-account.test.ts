import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { planLaunch } from '../../../src/storage/embedded/account.js';

test('data that is not there yet lends nobody, and a path that cannot be looked at is told of', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'troupe-account-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  await chmod(directory, 0o755);
  const file = join(directory, 'a-file');
  await writeFile(file, '');
  await t.notThrowsAsync(planLaunch(join(directory, 'not-there'), [join(directory, 'no-program')]));
  const below = planLaunch(file, []);
  // Only root has to find another account, and looks.
  if (process.getuid?.() !== 0) t.is((await below).account, undefined);
  else t.like(await t.throwsAsync(below), { code: 'ENOTDIR' });
});
