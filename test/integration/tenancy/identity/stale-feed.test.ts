import test from 'ava';
import { databaseOfFile } from '../../../support/database/database.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { type IdentityNode, startIdentityNode } from '../../../support/servers/identity.js';
import { addMember, registerPerson } from '../../../support/builders/people.js';
import { TcpProxy } from '../../../support/servers/tcp-proxy.js';

const database = databaseOfFile(test);
let node: IdentityNode;
/** Its feed of changes can be cut off. */
let cutOff: IdentityNode;
let proxy: TcpProxy;

test.before(async () => {
  proxy = await TcpProxy.before(database.url);
  [node, cutOff] = await Promise.all([
    startIdentityNode(database.url),
    startIdentityNode(database.url, { feedUrl: proxy.url }),
  ]);
  database.atEnd(async () => {
    await Promise.all([node.close(), cutOff.close()]);
    await proxy.close();
  });
});

test.serial('a node without the change feed asks the store and refuses ended sign-ins', async (t) => {
  const owner = await registerPerson(node.api);
  const member = await addMember(node, owner.tenantId, 'member');
  const [tenant, me] = [`/api/tenants/${owner.tenantId}`, '/api/auth/me'];
  for (const person of [owner, member]) t.is((await cutOff.api.get(tenant, person)).status, 200);
  const outside = await registerPerson(node.api);
  t.is((await cutOff.api.get(me, outside)).status, 200);

  proxy.mode = 'down';
  proxy.cutAll();
  await eventually(() => !cutOff.changes.isFresh());
  t.is((await cutOff.api.get(tenant, owner)).status, 200);
  await node.api.delete(`${tenant}/members/${member.id}`, owner);
  await node.api.post('/api/auth/logout', { refresh_token: outside.refreshToken });
  t.is((await cutOff.api.get(tenant, member)).at('error'), 'tenant_not_found');
  t.is((await cutOff.api.get(me, outside)).at('error'), 'invalid_token');

  // Its own changes are answered too, although it cannot receive them.
  const out = await cutOff.api.post('/api/auth/logout', { refresh_token: owner.refreshToken });
  t.is(out.status, 200);
  t.is((await cutOff.api.get(me, owner)).at('error'), 'invalid_token');
});

test.serial(
  'an answer waits until its node has applied the change, also while the feed is silent',
  async (t) => {
    proxy.mode = 'open';
    const person = await registerPerson(node.api);
    await eventually(() => cutOff.changes.isFresh());
    await eventually(async () => {
      await cutOff.identity.verifyToken(person.token);
      return !(cutOff.identity.verifyToken(person.token) instanceof Promise);
    });
    proxy.mode = 'silent';
    const out = await cutOff.api.post('/api/auth/logout', { refresh_token: person.refreshToken });
    t.is(out.status, 200);
    t.is((await cutOff.api.get('/api/auth/me', person)).at('error'), 'invalid_token');
    proxy.cutAll();
  },
);

test.serial('a node with the change feed restored refuses from memory what ended meanwhile', async (t) => {
  proxy.mode = 'open';
  const person = await registerPerson(node.api);
  await eventually(() => cutOff.changes.isFresh());
  t.is((await cutOff.api.get('/api/auth/me', person)).status, 200);
  proxy.mode = 'down';
  proxy.cutAll();
  await eventually(() => !cutOff.changes.isFresh());
  await node.api.post('/api/auth/logout', { refresh_token: person.refreshToken });
  proxy.mode = 'open';
  await eventually(() => cutOff.changes.isFresh());
  t.is((await cutOff.api.get('/api/auth/me', person)).status, 401);
});
