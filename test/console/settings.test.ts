// Settings of a tenant: budget, days, names of models, an export, and its deletion.
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { asOwner } from '../support/builders/triggers.js';
import {
  axe,
  expectNoConsoleErrors,
  fill,
  fitsPhone,
  openConsole,
  press,
  shows,
} from '../support/clients/console.js';
import { ask } from '../support/clients/direct-calls.js';
import { click, fillIn } from '../support/clients/pointer.js';
import { eventually } from '../support/clocks/eventually.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

test.serial('budget and retention of a tenant are changed', async (t) => {
  const node = await shared.tenant(t);
  const visit = await openConsole(t, node, '/settings');
  const { page } = visit;
  await shows(page, 'Name and budget');
  t.deepEqual(await axe(page), []);
  const read = async () => (await asOwner(node, 'GET', `/api/tenants/${node.bootstrap.tenant_id}`)).json.data;
  await fillIn(page, 'input[name=usd]', '12.5');
  await fillIn(page, 'input[name=name]', 'Corner shop');
  await press(page, 'Save name and budget');
  await page.waitForSelector('[aria-label="Tenant: Corner shop"]');
  await eventually(async () => (await read()).budget?.usd === 12.5, { timeoutMs: 20_000, everyMs: 250 });
  await fillIn(page, 'input[name=messages_days]', '9');
  await press(page, 'Save the days');
  await eventually(async () => (await read()).retention.messages_days === 9, {
    timeoutMs: 20_000,
    everyMs: 250,
  });
  t.deepEqual((await read()).budget, { usd: 12.5, period: 'month' });
  await shows(page, 'The settings were saved');
  await fitsPhone(page);
  await page.setViewport({ width: 1280, height: 900 });

  // A name of the tenant's own for a model.
  await click(page, '[aria-label="Names for models"] fieldset button');
  await fill(page, 'Names: Name 1', 'fast');
  await fill(page, 'Names: Model 1', 'sim.echo');
  await press(page, 'Save the names');
  await eventually(async () => (await read()).model_aliases?.fast === 'sim.echo', {
    timeoutMs: 20_000,
    everyMs: 250,
  });

  // An export, with the size of what came.
  await ask(node, { model: 'fast' });
  const folder = await mkdtemp(join(tmpdir(), 'troupe-export-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const cdp = await page.createCDPSession();
  await cdp.send('Browser.setDownloadBehavior', {
    browserContextId: page.browserContext().id ?? '',
    behavior: 'allowAndName',
    downloadPath: folder,
    eventsEnabled: true,
  });
  const finished = new Promise<void>((resolve) => {
    cdp.on('Browser.downloadProgress', ({ state }) => state === 'completed' && resolve());
  });
  const named = new Promise<string>((resolve) => {
    cdp.on('Browser.downloadWillBegin', ({ suggestedFilename }) => resolve(suggestedFilename));
  });
  await page.select('select[name=kind]', 'calls');
  await page.select('select[name=format]', 'csv');
  await press(page, 'Export');
  await shows(page, 'is saved');
  t.is(await named, 'calls.csv');
  await finished;
  const [file = ''] = await readdir(folder);
  t.regex(await readFile(join(folder, file), 'utf8'), /sim\.echo/);
  expectNoConsoleErrors(t, visit);
});

test.serial('a tenant is deleted by its name, and its person makes another', async (t) => {
  const node = await shared.tenant(t);
  const visit = await openConsole(t, node, '/settings');
  const { page } = visit;
  const { name } = (await asOwner(node, 'GET', `/api/tenants/${node.bootstrap.tenant_id}`)).json.data;
  await press(page, 'Delete the tenant');
  await fill(page, `Write ${name} to confirm`, 'something else');
  await press(page, 'Delete for good');
  await shows(page, `Write ${name}.`);
  t.is((await asOwner(node, 'GET', '/api/keys')).status, 200, 'nothing is deleted without the name');
  t.deepEqual(await axe(page), []);
  await fill(page, `Write ${name} to confirm`, name);
  await press(page, 'Delete for good');
  await shows(page, 'You belong to no tenant');
  t.is((await asOwner(node, 'GET', '/api/keys')).status, 404);
  t.deepEqual(await axe(page), []);
  await fill(page, 'Name of the tenant', 'Second life');
  await press(page, 'Create a tenant');
  await shows(page, 'Nothing waits for a person');
  await shows(page, 'Second life');
  await fitsPhone(page);
  expectNoConsoleErrors(t, visit);
});
