// Secrets: stored, found where they are used, changed, deleted. A value is never shown.
import test from 'ava';
import { asOwner } from '../support/builders/triggers.js';
import {
  axe,
  expectNoConsoleErrors,
  fill,
  fitsPhone,
  openConsole,
  press,
  readPaths,
  shows,
} from '../support/clients/console.js';
import { fillIn } from '../support/clients/pointer.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

test.serial('a secret is stored, used, changed and deleted', async (t) => {
  const node = await shared.tenant(t);
  const visit = await openConsole(t, node, '/secrets');
  const { page } = visit;
  await shows(page, 'No secrets yet');
  t.deepEqual(await axe(page), []);
  await press(page, 'Add a secret');
  await fill(page, 'Name', 'shop_token');
  await fillIn(page, 'input[name=value]', 'value-that-nobody-sees');
  t.deepEqual(await axe(page), []);
  await press(page, 'Store');
  await shows(page, 'not used');

  const schema = {
    name: 'orders',
    description: 'Reads the orders of the shop',
    type: 'api',
    editor_schema: {
      api: { url: 'https://shop.example/orders', auth: { type: 'bearer', secret_ref: 'shop_token' } },
    },
  };
  const made = await asOwner(node, 'POST', `/api/agents/${node.bootstrap.agent_id}/schemas`, schema);
  t.is(made.status, 201, made.text);
  await page.reload();
  await shows(page, 'orders');
  await press(page, 'shop_token');
  await shows(page, 'Value changed');
  t.deepEqual(await axe(page), []);
  await fillIn(page, 'input[name=value]', 'another-value');
  await press(page, 'Change the value');
  await shows(page, 'has version 2');
  t.false(
    ((await page.evaluate('document.documentElement.outerHTML')) as string).includes('value-that-nobody'),
  );
  await fitsPhone(page);
  await press(page, 'Delete');
  await shows(page, 'will fail without it');
  const read = readPaths(visit);
  await press(page, 'Delete although it is used');
  await shows(page, 'The secret was deleted');
  await shows(page, 'No secrets yet');
  // The list is read again, the deleted secret is not.
  t.deepEqual(
    read.filter((path) => path.startsWith('/api/secrets')),
    ['/api/secrets?limit=50'],
  );
  t.deepEqual((await asOwner(node, 'GET', '/api/secrets')).json.data, []);
  expectNoConsoleErrors(t, visit);
});
