// Databases: connected, tried, browsed, found where they are used, changed, deleted. A password is never shown.
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
import { startShop } from '../support/servers/databases.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

test.serial('a database is connected, tried, browsed, used, changed and deleted', async (t) => {
  const { place } = await startShop(t);
  const node = await shared.tenant(t);
  const visit = await openConsole(t, node, '/databases');
  const { page } = visit;
  const password = 'password-that-nobody-sees';
  await shows(page, 'No databases yet');
  t.deepEqual(await axe(page), []);
  await press(page, 'Connect a database', 'link');
  const name = `Shop ${'x'.repeat(80)}<b>`;
  await fill(page, 'Name', name);
  await fill(page, 'Host', place.host);
  await fill(page, 'Port', String(place.port));
  await fill(page, 'Database', place.database);
  await fill(page, 'User', place.username);
  await press(page, 'Encrypt the connection', 'checkbox');
  await page.select('::-p-aria([name="Password from"])', 'password');
  await fillIn(page, 'input[name=password]', password);
  t.deepEqual(await axe(page), []);
  // The wrong password is told by the form, and the right one lets the trial through.
  await press(page, 'Test the connection');
  await page.waitForFunction(`document.querySelector('p[role=status]')?.innerText.length > 10`);
  await fillIn(page, 'input[name=password]', place.password);
  // What is written now was not tested yet.
  await page.waitForFunction(`document.querySelector('p[role=status]')?.innerText === ''`);
  await press(page, 'Test the connection');
  await shows(page, 'can be read.');
  await press(page, 'Only some tables', 'checkbox');
  await press(page, 'List the tables');
  await shows(page, 'stock.items');
  await press(page, 'public.orders', 'checkbox');
  await press(page, 'stock.items', 'checkbox');
  await press(page, 'Connect');

  await shows(page, 'The tables were not read yet');
  await press(page, 'Read the tables');
  await shows(page, '2 tables, read');
  await page.waitForSelector('[role=region][aria-label="Columns of public.orders"]');
  t.deepEqual(await axe(page), []);
  await fillIn(page, 'input[type=search]', 'items');
  await page.waitForSelector('[role=region][aria-label="Columns of public.orders"]', { hidden: true });
  await shows(page, 'stock.items');
  await fitsPhone(page);
  await page.setViewport({ width: 1280, height: 800 });

  const id = String(await page.evaluate(`location.pathname.split('/').at(-1)`));
  const trigger = {
    agent_id: node.bootstrap.agent_id,
    name: 'New orders',
    trigger_type: 'db_event',
    trigger_config: {
      database_config_id: id,
      table: 'public.orders',
      cursor_column: 'id',
      message_template: 'New order',
    },
  };
  const made = await asOwner(node, 'POST', '/api/triggers', trigger);
  t.is(made.status, 201, made.text);
  await page.goto(`${node.client.baseUrl}/databases/${id}?tab=uses`);
  await shows(page, 'New orders');

  await press(page, 'Connection', 'tab');
  await page.waitForSelector('input[name=host]');
  await press(page, 'Test the connection');
  await shows(page, 'can be read.');
  t.deepEqual(await axe(page), []);
  await fill(page, 'Port', '1');
  await fill(page, 'Name', 'Web shop');
  await fill(page, 'Port', '99999');
  await press(page, 'Save');
  await page.waitForSelector('input[name=port][aria-invalid=true]');
  await fill(page, 'Port', String(place.port));
  await press(page, 'Save');
  await shows(page, 'The database was changed');
  await page.waitForFunction(`document.querySelector('h1').innerText === 'Web shop'`);
  const html = (await page.evaluate('document.documentElement.outerHTML')) as string;
  t.false(html.includes(password));
  if (place.password.length > 8) t.false(html.includes(place.password));

  await press(page, 'Delete');
  await shows(page, 'will fail without it: New orders');
  const read = readPaths(visit);
  await press(page, 'Delete although it is used');
  await shows(page, 'The database was deleted');
  await shows(page, 'No databases yet');
  t.deepEqual(
    read.filter((path) => path.includes(id)),
    [],
  );
  await press(page, 'Show deleted ones', 'checkbox');
  await page.waitForFunction(
    `[...document.querySelectorAll('tbody td')].some((cell) => cell.innerText === 'deleted')`,
  );
  await page.goto(`${node.client.baseUrl}/databases/${id}`);
  await shows(page, 'does not exist');
  t.deepEqual((await asOwner(node, 'GET', '/api/database-configs')).json.data, []);
  // Refusals of the API, which the test asked for, are the only ones.
  t.deepEqual(
    visit.problems.filter((problem) => !/status of (?:400|404|502)/.test(problem)),
    [],
  );
  expectNoConsoleErrors(t, { ...visit, problems: [] });
});
