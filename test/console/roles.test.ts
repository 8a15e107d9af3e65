// What a role does not include is not offered, and its address says so.
import test from 'ava';
import pg from 'pg';
import { axe, openConsole, shows } from '../support/clients/console.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

test.serial('an editor sees keys and calls, and neither secrets, members, audit nor cost', async (t) => {
  const node = await shared.tenant(t);
  const { tenant_id: tenant, owner } = node.bootstrap;
  const become = async (role: string): Promise<void> => {
    const client = new pg.Client({ connectionString: node.databaseUrl });
    await client.connect();
    await client.query('set role troupe_directory');
    const { rowCount } = await client.query(
      `update memberships set role = $3 where tenant_id = $1 and user_id = (select id from users where email = $2)`,
      [tenant, owner.email, role],
    );
    await client.end();
    t.is(rowCount, 1);
  };
  await become('editor');
  const { page } = await openConsole(t, node, '/keys');
  await shows(page, 'Key of the test');
  t.not(await page.$('::-p-aria([name="Create a key"][role="button"])'), null);
  t.is(await page.$('::-p-aria([name="Revoke Key of the test"][role="button"])'), null);
  const offered = await page.$$eval('nav[aria-label="Screens"] a', (links) =>
    links.map(({ pathname }) => pathname),
  );
  t.true(offered.includes('/calls'));
  for (const path of ['/secrets', '/members', '/audit', '/usage']) {
    t.false(offered.includes(path), path);
    await page.goto(`${node.client.baseUrl}${path}`);
    await shows(page, 'Your role does not include this');
  }
  t.deepEqual(await axe(page), []);
  await become('member');
  for (const path of ['/databases', '/errors']) {
    await page.goto(`${node.client.baseUrl}${path}`);
    await shows(page, 'Your role does not include this');
  }
});
