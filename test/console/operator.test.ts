// Errors as a tenant and the operator see them, and what the operator does with tenants and users.
import test from 'ava';
import {
  axe,
  fill,
  fitsPhone,
  openConsole,
  press,
  readPaths,
  shows,
  visitConsole,
} from '../support/clients/console.js';
import { click, fillIn } from '../support/clients/pointer.js';
import { eventually } from '../support/clocks/eventually.js';
import { operatorToken } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test, () => ({
  // Nothing listens at the vendor's address: turns fail.
  environment: { OPENAI_API_KEY: 'sk-none', OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' },
}));

test.serial('a tenant sees its errors; the operator sees all, plans, suspends and disables', async (t) => {
  const node = await shared.tenant(t);
  const { bootstrap, client } = node;
  const { agent_id: agent, tenant_id: tenant, access_token: token, api_key: key } = bootstrap;
  const asOwner = { token, tenant };
  const absent = await client.call('GET', '/api/v1/sessions/00000000-0000-4000-8000-000000000000', { key });
  const requestId = absent.headers.get('x-request-id') ?? '';
  const body = { llm_config: { model: 'openai.gpt-5-mini' } };
  await client.call('PATCH', `/api/agents/${agent}`, { ...asOwner, body });
  await client.call('POST', `/api/agents/${agent}/publish`, { ...asOwner, body: {} });
  await client.call('POST', `/api/v2/agents/${agent}/stream`, { key, body: { message: 'fail' } });
  const failed = await eventually(async () => {
    const { json } = await client.call('GET', '/api/v1/errors', asOwner);
    return json.data.find((one: { execution_id: string | null }) => one.execution_id !== null);
  });

  const visit = await openConsole(t, node, '/errors');
  const { page } = visit;
  // The filter has the words too.
  for (const code of [failed.error, 'not_found'])
    await page.waitForFunction(`document.querySelector('tbody')?.innerText.includes('${code}')`);
  t.deepEqual(await axe(page), []);
  await page.waitForSelector(`option[value="${agent}"]`);
  await page.select('::-p-aria([name="Agent"])', agent);
  await page.waitForFunction(`document.querySelector('tbody')?.innerText.includes('not_found') === false`);
  await click(page, 'tbody button');
  await shows(page, failed.execution_id);
  t.is(new URL(page.url()).searchParams.get('error'), failed.id);
  t.deepEqual(await axe(page), []);
  // A link to the error works by itself, and leads on to the turn.
  await page.goto(page.url());
  await click(page, `a[href="/turns/${failed.execution_id}"]`);
  await page.waitForFunction(`location.pathname.startsWith('/turns/')`);
  await page.goto(`${client.baseUrl}/errors?request=${requestId}`);
  await shows(page, 'not_found');
  await fitsPhone(page);
  await page.setViewport({ width: 1280, height: 800 });

  // The address stays over the operator's sign-in.
  await page.goto(`${client.baseUrl}/operator/tenants?search=${tenant}`);
  await shows(page, 'Operator token');
  t.deepEqual(await axe(page), []);
  await fillIn(page, 'input[name=token]', 'not-the-operator-token');
  await press(page, 'Sign in');
  await shows(page, 'The operator token is wrong');
  await fillIn(page, 'input[name=token]', operatorToken);
  await press(page, 'Sign in');
  await page.waitForSelector('tbody button');
  await shows(page, 'Copy as');
  t.deepEqual(await axe(page), []);
  await fitsPhone(page);
  await click(page, 'tbody button');
  await shows(page, 'Requests a day');
  t.deepEqual(await axe(page), []);
  await page.select('::-p-aria([name="Plan"][role="combobox"])', 'pro');
  await fillIn(page, 'input[name=requests_per_day]', '1234');
  await press(page, 'Change the plan');
  await shows(page, 'The tenant is on plan pro.');
  const read = async () =>
    (await client.call('GET', `/api/v1/operator/tenants/${tenant}`, { token: operatorToken })).json.data;
  t.like(await read(), { plan: 'pro', settings: { requests_per_day: 1_234 } });
  await press(page, 'Suspend');
  await fill(page, 'Reason', 'An unpaid bill');
  await click(page, '[role=alertdialog] button:last-of-type');
  await shows(page, 'An unpaid bill');
  t.is((await read()).status, 'suspended');
  t.is((await client.call('GET', '/api/agents', asOwner)).json.error, 'tenant_suspended');
  await press(page, 'Resume');
  await click(page, '[role=alertdialog] button:last-of-type');
  await shows(page, 'The tenant works again');
  t.is((await read()).status, 'active');
  await page.keyboard.press('Escape');

  await page.setViewport({ width: 1280, height: 800 });
  await press(page, 'Create a tenant');
  await fill(page, 'Name', 'Made by the operator');
  await fill(page, 'Owner', 'nobody@test.example');
  await press(page, 'Create');
  await page.waitForSelector('input[name=owner][aria-invalid=true]');
  await fill(page, 'Owner', bootstrap.owner.email);
  await press(page, 'Create');
  await shows(page, 'The tenant was created');
  await fillIn(page, 'input[type=search]', 'Made by the operator');
  // The field takes effect a moment after the last key, and closes what was opened before.
  await page.waitForFunction(`new URLSearchParams(location.search).get('search') === 'Made by the operator'`);
  await page.waitForFunction(`document.querySelector('tbody')?.innerText.includes('Made by the operator')`);
  await press(page, 'Made by the operator');
  await press(page, 'Delete');
  await fill(page, 'Name of the tenant, to confirm', 'Made by the operator');
  const readAfter = readPaths(visit);
  await press(page, 'Delete everything');
  await shows(page, 'The tenant is being deleted');
  t.deepEqual(
    readAfter.filter((path) => path.startsWith('/api/v1/operator/tenants/')),
    [],
  );

  await press(page, 'Errors', 'link');
  await shows(page, failed.error);
  await shows(page, 'Copy as');
  await fillIn(page, 'input[type=search]', requestId);
  await page.waitForFunction(`location.search.includes('${requestId}')`);
  await page.waitForFunction(
    `document.querySelector('tbody')?.innerText.includes('${failed.error}') === false`,
  );
  await click(page, 'tbody button');
  await shows(page, requestId);
  t.deepEqual(await axe(page), []);
  await page.keyboard.press('Escape');

  await press(page, 'Users', 'link');
  // The page before has such a field too, and stays until the next one is there.
  await shows(page, 'The accounts of this installation');
  await fillIn(page, 'input[type=search]', bootstrap.owner.email);
  // The rows of before go away a moment after the last key.
  await page.waitForFunction(`document.querySelectorAll('tbody tr').length === 1`);
  await shows(page, 'Copy as');
  await press(page, `Disable ${bootstrap.owner.email}`);
  await click(page, '[role=alertdialog] button:last-of-type');
  await shows(page, 'The user is disabled');
  t.is((await client.call('GET', '/api/auth/me', { token })).status, 401);
  t.deepEqual(await axe(page), []);
  await press(page, `Enable ${bootstrap.owner.email}`);
  await click(page, '[role=alertdialog] button:last-of-type');
  // The question says in the same words what it will do as the message afterwards.
  await page.waitForSelector(`::-p-aria([name="Disable ${bootstrap.owner.email}"][role="button"])`);
  // The token is nowhere but in the memory of the page.
  t.false(
    ((await page.evaluate('JSON.stringify({ ...localStorage, ...sessionStorage })')) as string).includes(
      operatorToken,
    ),
  );
  await page.reload();
  await shows(page, 'Operator token');
  t.deepEqual(
    visit.problems.filter((problem) => !/status of (?:400|401)/.test(problem)),
    [],
  );
});

/** Gives the page a second node in each reading of the cluster, with the standing that the test sets. */
const besideAnother = `{
  window.standing = 'member';
  const asked = window.fetch;
  window.fetch = async (request) => {
    const answer = await asked(request);
    if (!answer.url.endsWith('/api/v1/cluster')) return answer;
    const { data } = await answer.json();
    const [own] = data.nodes;
    const nodes = [own, { ...own, process: 'another', standing: window.standing }];
    return Response.json({ success: true, data: { ...data, nodes } });
  };
}`;

test.serial('the question whether a node shall drain stays open while the node answers late', async (t) => {
  const visit = await visitConsole(t, await shared.tenant(t), '/operator');
  const { page } = visit;
  await fillIn(page, 'input[name=token]', operatorToken);
  await press(page, 'Sign in');
  await shows(page, '1 node');
  await page.evaluate(besideAnother);
  await press(page, 'another');
  await press(page, 'Drain');
  await shows(page, 'Drain another?');
  for (const standing of ['unreachable', 'confirmed_by_peers']) {
    await page.evaluate(`window.standing = '${standing}'`);
    await shows(page, standing.replaceAll('_', ' '));
    t.true(await page.evaluate(`document.body.innerText.includes('Drain another?')`), standing);
  }
  await press(page, 'Keep');
  // It is offered of members alone.
  await page.waitForFunction(`!document.body.innerText.includes('Drain')`);
  t.deepEqual(visit.problems, []);
});
