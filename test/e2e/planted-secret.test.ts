import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { dump, ownerView } from '../support/database/owner-view.js';
import { startTestNode } from '../support/servers/node.js';

test('no database, log, data folder or answer contains a planted secret', async (t) => {
  const { client, bootstrap, node, databaseUrl, dataDir, log, stop } = await startTestNode(t);
  const caller = { token: bootstrap.access_token, tenant: bootstrap.tenant_id };
  const value = `planted${randomBytes(12).toString('hex')}`;
  const texts: string[] = [];
  const call = async (method: string, path: string, body?: unknown) => {
    const result = await client.call(method, path, { ...caller, ...(body === undefined ? {} : { body }) });
    texts.push(result.text);
    return result;
  };
  const secret = { name: 'planted', value, kind: 'generic' };
  const created = await call('POST', '/api/secrets', secret);
  t.is(created.status, 201, created.text);
  const id = String(created.json.data.id);
  t.is((await call('POST', '/api/secrets', secret)).status, 409);
  t.is((await call('POST', '/api/secrets', { ...secret, name: 'a b' })).status, 400);
  t.is((await call('POST', '/api/secrets', { ...secret, value: { value } })).status, 400);
  t.is((await call('PUT', `/api/secrets/${id}/value`, { value: `${value}-2` })).status, 200);
  t.is((await call('PUT', `/api/secrets/${id}/value`, { value: [value] })).status, 400);
  for (const operation of node.table.operations) {
    if (operation.method !== 'GET' || operation.contentType === 'text/event-stream') continue;
    await call('GET', operation.path.replaceAll(/:\w+/g, id));
  }
  const owner = await ownerView(databaseUrl);
  const stored = await dump(owner);
  await owner.end();
  t.true(stored.includes(id), 'the search reads the rows');
  await stop();
  texts.push(stored, log());
  for (const entry of await readdir(dataDir, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) texts.push(await readFile(join(entry.parentPath, entry.name), 'latin1'));
  }
  const bytes = Buffer.from(value);
  for (const form of [value, bytes.toString('hex'), bytes.toString('base64').slice(0, 32)]) {
    t.false(
      texts.some((text) => text.includes(form)),
      form,
    );
  }
});
