import test from 'ava';
import { createSignInLimits } from '../../../../src/tenancy/identity/sign-in-limits.js';
import { createTokenFamilies } from '../../../../src/tenancy/identity/token-families.js';
import { sql } from '../../../../src/infra/storage/index.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { type IdentityNode, secretRandom, startIdentityNode } from '../../../support/servers/identity.js';
import { registerPerson } from '../../../support/builders/people.js';

const database = databaseOfFile(test);
let node: IdentityNode;

test.before(async () => {
  node = await startIdentityNode(database.url);
  database.atEnd(() => node.close());
});

const dayMs = 86_400_000;
const count = (table: 'token_families' | 'refresh_tokens' | 'sign_in_failures'): Promise<number> =>
  node.store.directory((tx) =>
    tx.oneFirst(sql.typeAlias('count')`select count(*) as count from ${sql.identifier([table])}`),
  );

function familiesAt(nowMs: number) {
  return createTokenFamilies({
    store: node.store,
    changes: node.changes,
    random: secretRandom,
    nowMs: () => nowMs,
    tokens: {
      mint: async () => '',
      mintForKey: async () => '',
      verify: () => Promise.reject(new Error('not asked for')),
    },
  });
}

test.serial('families are kept while a token may be used, and removed a day after that', async (t) => {
  const now = Date.now();
  const person = await registerPerson(node.api);
  const renewed = await node.api.post('/api/auth/refresh', { refresh_token: person.refreshToken });
  await familiesAt(now + 29 * dayMs).sweep();
  t.is(await count('refresh_tokens'), 2, 'a used token is kept, so that a theft shows');
  const late = await familiesAt(now + 29 * dayMs).refresh(renewed.textAt('data.refresh_token'));
  await familiesAt(now + 32 * dayMs).sweep();
  t.is(await count('token_families'), 1, 'the refresh prolonged it');
  t.is(await count('refresh_tokens'), 2, 'the first one was used too long ago');
  const tooLate = familiesAt(now + 60 * dayMs).refresh(late.refresh_token);
  await t.throwsAsync(tooLate, { code: 'invalid_token' });
  await familiesAt(now + 61 * dayMs).sweep();
  t.is(await count('token_families'), 0);
  t.is(await count('refresh_tokens'), 0);
});

test.serial('failed sign-ins are removed once they no longer count', async (t) => {
  const now = Date.now();
  const limitsAt = (nowMs: number) => createSignInLimits(node.store, () => nowMs);
  await limitsAt(now).recordFailure({
    email: 'ada@example.com',
    address: '192.0.2.1',
    client: undefined,
  });
  await limitsAt(now + 14 * 60_000).sweep();
  t.is(await count('sign_in_failures'), 2);
  await limitsAt(now + 16 * 60_000).sweep();
  t.is(await count('sign_in_failures'), 0);
});
