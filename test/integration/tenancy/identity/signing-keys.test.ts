import { randomBytes } from 'node:crypto';
import test from 'ava';
import { decodeProtectedHeader } from 'jose';
import { z } from 'zod';
import { systemPlatform } from '../../../../src/infra/platform/index.js';
import { createSealer } from '../../../../src/infra/sealing/index.js';
import { sql } from '../../../../src/infra/storage/index.js';
import { createSigningKeys } from '../../../../src/tenancy/identity/signing-keys.js';
import { createDatabase } from '../../../support/database/database.js';
import { eventually } from '../../../support/clocks/eventually.js';
import {
  type IdentityNode,
  masterKey,
  type ShiftedTime,
  shiftedTime,
  startIdentityNode,
} from '../../../support/servers/identity.js';
import { registerPerson } from '../../../support/builders/people.js';

const minuteMs = 60_000;

async function keyIds({ api }: IdentityNode): Promise<readonly string[]> {
  const { body } = await api.get('/.well-known/jwks.json');
  return (body as { keys: { kid: string }[] }).keys.map(({ kid }) => kid);
}

async function startNodes(
  t: { teardown(fn: () => Promise<void>): void },
  count: number,
  time: ShiftedTime = shiftedTime(),
) {
  const { url } = await createDatabase(t);
  const nodes = await Promise.all(Array.from({ length: count }, () => startIdentityNode(url, { time })));
  t.teardown(async () => void (await Promise.all(nodes.map((node) => node.close()))));
  return { url, nodes };
}

test.serial('nodes that start at once on a new database share one signing key', async (t) => {
  const { nodes } = await startNodes(t, 4);
  const ids = await Promise.all(nodes.map(keyIds));
  t.is(ids[0]?.length, 1);
  for (const one of ids) t.deepEqual(one, ids[0]);
});

test.serial(
  'a new key is published on every node before it signs, and the old one stays until its tokens expire',
  async (t) => {
    const time = shiftedTime();
    const { nodes } = await startNodes(t, 2, time);
    const [node, neighbour] = nodes as [IdentityNode, IdentityNode];
    const [first] = await keyIds(node);
    const before = await registerPerson(node.api);
    const second = await node.identity.rotateSigningKey();
    t.deepEqual(await keyIds(node), [second, first]);
    await eventually(async () => (await keyIds(neighbour)).length === 2);

    const early = await registerPerson(neighbour.api);
    t.is(decodeProtectedHeader(early.token).kid, first);
    time.aheadMs += 11 * minuteMs;
    const late = await registerPerson(neighbour.api);
    t.is(decodeProtectedHeader(late.token).kid, second);
    for (const { token } of [before, early, late]) {
      t.is((await node.api.get('/api/auth/me', { token })).status, 200);
    }

    time.aheadMs += 61 * minuteMs;
    const third = await node.identity.rotateSigningKey();
    t.deepEqual(await keyIds(node), [third, second]);
    t.is((await node.api.get('/api/auth/me', late)).at('error'), 'invalid_token', 'expired by then');
  },
);

test.serial('a wall clock that is set back does not hide the new key of another node', async (t) => {
  const { nodes } = await startNodes(t, 1);
  const [{ store, changes, sealer }] = nodes as [IdentityNode];
  const time = shiftedTime();
  const keysOfNode = () =>
    createSigningKeys({ store, changes, sealer, time, tokenLifetimeMs: 60 * minuteMs });
  const [keys, deaf] = [keysOfNode(), keysOfNode()];
  await keys.open();
  await deaf.open();
  const id = await keys.rotate();
  time.aheadMs -= 24 * 60 * minuteMs;
  time.passedMs += 1_000;
  t.truthy(await deaf.verifier(id));
});

test.serial(
  'a load that began before a change does not hide the new key, also if it ends last',
  async (t) => {
    const { nodes } = await startNodes(t, 1);
    const [{ store, changes, sealer }] = nodes as [IdentityNode];
    const time = shiftedTime();
    const parts = { changes, sealer, time, tokenLifetimeMs: 60 * minuteMs };
    const keys = createSigningKeys({ ...parts, store });
    /** The next query ends only when the test lets it. */
    let held: { readonly end: Promise<void>; readonly read: () => void } | undefined;
    const slow = createSigningKeys({
      ...parts,
      store: {
        directory: async (work) => {
          const hold = held;
          held = undefined;
          const result = await store.directory(work);
          hold?.read();
          await hold?.end;
          return result;
        },
      },
    });
    await keys.open();
    await slow.open();
    time.passedMs += 1_000;
    let end = (): void => undefined;
    const mayEnd = new Promise<void>((resolve) => {
      end = resolve;
    });
    let lookUp: Promise<unknown> = Promise.resolve();
    await new Promise<void>((read) => {
      held = { end: mayEnd, read };
      lookUp = slow.verifier('unknown');
    });
    const id = await keys.rotate();
    const isKnown = (): boolean => slow.published().some(({ kid }) => kid === id);
    const changed = slow.reload();
    try {
      await eventually(isKnown, { what: 'the new key after the change' });
    } finally {
      end();
      await Promise.all([changed, lookUp]);
    }
    t.true(isKnown());
  },
);

test.serial(
  'a private key is stored sealed, and opens under a former master key until it is sealed again',
  async (t) => {
    const { url, nodes } = await startNodes(t, 1);
    const [node] = nodes as [IdentityNode];
    const person = await registerPerson(node.api);
    const storedKey = z.object({ sealed_private_key: z.instanceof(Buffer), public_key: z.string() });
    const row = await node.store.directory((tx) =>
      tx.one(sql.type(storedKey)`select sealed_private_key, public_key::text from signing_keys`),
    );
    // Not only `"d"`: three bytes stand in many a sealed text by chance.
    t.false(row.sealed_private_key.toString('latin1').includes('"d":"'));
    t.false(row.public_key.includes('"d"'));

    const newMasterKey = randomBytes(32);
    const sealerWith = (current: Buffer, ...former: Buffer[]) =>
      createSealer({ masterKey: current, formerMasterKeys: former, random: systemPlatform.random });
    await t.throwsAsync(startIdentityNode(url, { sealer: sealerWith(newMasterKey) }), {
      message: /sealed under a master key that is not available/,
    });
    const rotated = await startIdentityNode(url, { sealer: sealerWith(newMasterKey, masterKey) });
    t.is((await rotated.api.get('/api/auth/me', person)).status, 200);
    const beforeReseal = await startIdentityNode(url);
    t.is(
      (await beforeReseal.api.get('/api/auth/me', person)).status,
      200,
      'nodes with the old key alone go on',
    );
    await beforeReseal.close();
    await rotated.identity.resealSigningKeys();
    await rotated.close();
    const later = await startIdentityNode(url, { sealer: sealerWith(newMasterKey) });
    t.is((await later.api.get('/api/auth/me', person)).status, 200);
    await later.close();
  },
);
