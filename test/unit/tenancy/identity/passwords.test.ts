import test from 'ava';
import { createPasswords } from '../../../../src/tenancy/identity/passwords.js';
import { PlatformError } from '../../../../src/kernel/errors.js';

const cheap = { memoryCostKiB: 64, timeCost: 1, concurrencyMax: 2, waitingMax: 3 };

test('a password is stored as argon2id with the configured cost', async (t) => {
  const passwords = createPasswords(cheap);
  const hash = await passwords.hash('correct horse battery');
  t.regex(hash, /^\$argon2id\$v=19\$m=64,t=1,p=1\$/);
  t.true(await passwords.verify(hash, 'correct horse battery'));
  t.false(await passwords.verify(hash, 'correct horse batterz'));
});

test('differently composed letters are the same password', async (t) => {
  const passwords = createPasswords(cheap);
  t.true(
    await passwords.verify(await passwords.hash('Zu\u0308rich-Z\u00fcrich'), 'Z\u00fcrich-Zu\u0308rich'),
  );
});

test("without a stored hash no password is right, not even the placeholder's", async (t) => {
  const passwords = createPasswords(cheap);
  t.false(await passwords.verify(null, 'no account has this password'));
  t.false(await passwords.verify(undefined, 'no account has this password'));
});

test.serial('a check without a stored hash costs as much as one with it', async (t) => {
  // Cheap hashes would drown in noise; these take tens of milliseconds. The test measures this process's CPU time, in turn:
  // other load on the machine slows both, and its time is not added.
  const passwords = createPasswords({ ...cheap, memoryCostKiB: 32_768, timeCost: 2 });
  const hash = await passwords.hash('correct horse battery');
  const cost = async (stored: string | null): Promise<number> => {
    const before = process.cpuUsage();
    await passwords.verify(stored, 'some other password');
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  let [withHash, without] = [Infinity, Infinity];
  for (let round = 0; round < 7; round += 1) {
    withHash = Math.min(withHash, await cost(hash));
    without = Math.min(without, await cost(null));
  }
  t.true(without > withHash / 3, `${without} µs without, ${withHash} µs with`);
});

test('a few passwords are hashed at once, a few wait, and the next gets a retryable refusal', async (t) => {
  const passwords = createPasswords(cheap);
  let running = 0;
  let runningMax = 0;
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const attempts = Array.from({ length: 7 }, () =>
    passwords.verify(null, 'any password', async () => {
      running += 1;
      runningMax = Math.max(runningMax, running);
      await released;
      running -= 1;
    }),
  );
  const settled = Promise.allSettled(attempts);
  release();
  const results = await settled;
  const refused = results.filter((result) => result.status === 'rejected');
  t.is(refused.length, 2);
  for (const { reason } of refused) {
    t.true(reason instanceof PlatformError && reason.code === 'service_unavailable');
  }
  t.is(runningMax, 2);
  t.false(await passwords.verify(null, 'any password'), 'there is room again');
});

test('a failing hash makes room for the next', async (t) => {
  const passwords = createPasswords({ ...cheap, concurrencyMax: 1 });
  const refusal = new PlatformError('rate_limit_exceeded');
  const results = await Promise.allSettled(
    Array.from({ length: 4 }, () => passwords.verify(null, 'any password', () => Promise.reject(refusal))),
  );
  t.true(results.every((result) => result.status === 'rejected' && result.reason === refusal));
  t.false(await passwords.verify(null, 'any password'));
});
