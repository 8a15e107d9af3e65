// A revocation reaches a node whose change feed is cut off, slow, or has lost its position.
import test from 'ava';
import { insertTenant } from '../../../support/builders/callers.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { type KeysNode, newKey, startKeysNode } from '../../../support/servers/keys-node.js';
import { sql } from '../../../../src/infra/storage/index.js';
import { TcpProxy } from '../../../support/servers/tcp-proxy.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';

const database = databaseOfFile(test);
let node: KeysNode;

test.serial.before(async () => {
  node = await startKeysNode(database.url);
  database.atEnd(() => node.close());
});

test('a node without the change feed refuses a revoked key once its cache is two seconds old', async (t) => {
  const proxy = await TcpProxy.before(database.url);
  const feedTime = new ManualTime('2026-01-01T00:00:00Z');
  const deaf = await startKeysNode(database.url, { feedUrl: proxy.url, feedTime });
  t.teardown(async () => {
    await deaf.close();
    await proxy.close();
  });
  const scope = await insertTenant(node.store);
  const [revoked, kept] = [await newKey(node, scope), await newKey(node, scope)];
  for (const { apiKey } of [revoked, kept]) {
    t.is((await deaf.withKey(apiKey)('GET', '/api/quota')).status, 200);
  }
  proxy.mode = 'silent';
  t.is((await node.asUser(scope, 'admin')('DELETE', `/api/keys/${revoked.id}`)).status, 200);
  const status = async () => (await deaf.withKey(revoked.apiKey)('GET', '/api/quota')).status;
  feedTime.advance(1_999);
  t.is(await status(), 200, 'from its cache');
  feedTime.advance(1);
  t.is(await status(), 401);
  t.is((await deaf.withKey(kept.apiKey)('GET', '/api/quota')).status, 200, 'others work, from the store');
});

test('a node whose feed lost its position queries which of its keys ended, and reports them', async (t) => {
  const proxy = await TcpProxy.before(database.url);
  const other = await startKeysNode(database.url, { feedUrl: proxy.url });
  t.teardown(async () => {
    await other.close();
    await proxy.close();
  });
  const scope = await insertTenant(node.store);
  const keys = [await newKey(node, scope), await newKey(node, scope), await newKey(node, scope)];
  for (const { apiKey } of keys) await other.withKey(apiKey)('GET', '/api/quota');
  const ended: string[] = [];
  other.keys.onRevoked(({ keyId, tenantId }) => {
    if (tenantId === scope.tenantId) ended.push(keyId);
  });
  // A change of a key drops its cache entry, but not the record of its use.
  const body = { rateLimitPerMinute: 30 };
  const changed = await node.asUser(scope, 'admin')('PATCH', `/api/keys/${keys[0]?.id}/rpm`, body);
  t.is(changed.status, 200);
  t.true(await other.feed.reached(node.feed.position, 10_000));
  proxy.mode = 'down';
  proxy.cutAll();
  const gone = keys.slice(0, 2);
  for (const { id } of gone) await node.asUser(scope, 'admin')('DELETE', `/api/keys/${id}`);
  // As after an hour away: the missed changes are no longer kept.
  await node.store.directory((tx) => tx.query(sql.typeAlias('nothing')`delete from changes`));
  proxy.mode = 'open';
  await eventually(() => ended.length >= 2, { what: 'both are told of' });
  t.deepEqual(ended.toSorted(), gone.map(({ id }) => id).toSorted());
  t.is((await other.withKey(keys[2]?.apiKey ?? '')('GET', '/api/quota')).status, 200);
  t.is((await other.withKey(gone[0]?.apiKey ?? '')('GET', '/api/quota')).status, 401);
});
