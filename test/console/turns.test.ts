// The turn viewer: what happened in a turn, with what it took, and the same question to another model.
import test from 'ava';
import { httpTool, publishAgent } from '../support/builders/published-agents.js';
import { calling, saying } from '../support/builders/tool-turns.js';
import {
  axe,
  expectNoConsoleErrors,
  fill,
  fitsPhone,
  openConsole,
  press,
  shows,
} from '../support/clients/console.js';
import { sharedNodeWithOpenAi } from '../support/clients/direct-calls.js';
import { click } from '../support/clients/pointer.js';
import { eventually } from '../support/clocks/eventually.js';
import { answerJson, startToolServer } from '../support/servers/tool-servers.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';

const openai = new OpenAiServer();
const shared = sharedNodeWithOpenAi(test, openai);
const model = 'openai.gpt-4.1-mini';

test.serial('a turn shows its models, tools and attempts, and is compared with another model', async (t) => {
  const node = await shared.tenant(t);
  const server = await startToolServer(t, (_request, response) =>
    answerJson(response, { parcel: 'at the depot' }),
  );
  const agent = await publishAgent(node.client, node.bootstrap, {
    model,
    schemas: [httpTool('lookup', `${server.url}/lookup`)],
  });
  openai.script(calling(['lookup', {}]), saying('It is **at the depot**.'));
  const { api_key: key } = node.bootstrap;
  const body = { message: 'Where is my parcel?', metadata: { trace_id: 'trace-of-the-test' } };
  const turn = await node.client.call('POST', `/api/v2/agents/${agent}/stream`, { key, body });
  const { execution_id } = JSON.parse(/^data: (.*)$/m.exec(turn.text)?.[1] ?? '{}');
  const visit = await openConsole(t, node, '/turns?trace=trace-of-the-test');
  const { page } = visit;
  // The filter has the word too.
  await page.waitForFunction(`document.querySelector('tbody')?.innerText.includes('completed')`);
  t.deepEqual(await axe(page), []);
  await click(page, 'table a');
  await eventually(async () => page.url().endsWith(`/turns/${execution_id}`));
  await shows(page, 'at the depot');
  await click(page, '::-p-aria([role="button"]) ::-p-text(lookup)');
  await shows(page, 'Result, as the model saw it');
  await shows(page, '"parcel": "at the depot"');
  t.regex(page.url(), /step=2$/, 'the step is in the address');
  await page.reload();
  await shows(page, '"parcel": "at the depot"');
  t.deepEqual(await axe(page), []);
  // The last model call saw the question, the call of the tool and its result.
  await page.goto(`${node.client.baseUrl}/turns/${execution_id}?step=3`);
  await click(page, '[aria-label="What the model saw"] summary');
  await shows(page, 'Result of lookup');
  const seen = (await page.$eval('[aria-label="What the model saw"] ol', (list) => list.textContent)) ?? '';
  t.regex(seen, /Where is my parcel\?.*lookup.*Result of lookup.*at the depot/s);
  t.notRegex(seen, /It is \*\*/, 'its own answer came later');
  t.deepEqual(await axe(page), []);
  openai.script(saying('It is somewhere.'));
  await press(page, 'Compare');
  await page.waitForSelector('form textarea');
  await fill(page, 'System prompt', 'Be vague.');
  await press(page, 'Ask');
  await shows(page, 'It is somewhere.');
  t.regex(JSON.stringify(openai.requests.at(-1)?.body), /Be vague\..*Where is my parcel\?/);
  t.deepEqual(await axe(page), []);
  expectNoConsoleErrors(t, visit);
});

test.serial('a fallback is shown with its reason', async (t) => {
  const node = await shared.tenant(t);
  const agent = await publishAgent(node.client, node.bootstrap, {
    model,
    more: { llm_config: { model, fallback_models: ['sim.echo'] } },
  });
  openai.byDefault({ status: 503, message: 'out of service' });
  t.teardown(() => openai.byDefault(saying('hello')));
  const { api_key: key } = node.bootstrap;
  const body = { message: 'Is anybody there?' };
  const turn = await node.client.call('POST', `/api/v2/agents/${agent}/stream`, { key, body });
  const { execution_id } = JSON.parse(/^data: (.*)$/m.exec(turn.text)?.[1] ?? '{}');
  const visit = await openConsole(t, node, `/turns/${execution_id}?step=1`);
  const { page } = visit;
  await shows(page, 'answered by another model');
  await shows(page, `${model} was asked first`);
  await shows(page, 'Attempt 1');
  t.deepEqual(await axe(page), []);
  await fitsPhone(page);
  expectNoConsoleErrors(t, visit);
});

test.serial('a turn is live while it runs', async (t) => {
  const node = await shared.tenant(t);
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  openai.script({ ...saying('Here it is.'), until: held });
  const agent = await publishAgent(node.client, node.bootstrap, { model });
  const { api_key: key } = node.bootstrap;
  const path = `/api/v2/agents/${agent}/stream`;
  const turn = node.client.call('POST', path, { key, body: { message: 'Tell me' } });
  const running = await eventually(async () => {
    const { json } = await node.client.call('GET', '/api/v1/executions?status=running', { key });
    return json.data[0]?.id as string | undefined;
  });
  const visit = await openConsole(t, node, `/turns/${running}`);
  await shows(visit.page, 'running');
  const loadedAt = await visit.page.evaluate('performance.timeOrigin');
  release();
  t.is((await turn).status, 200);
  await shows(visit.page, 'completed');
  t.is(await visit.page.evaluate('performance.timeOrigin'), loadedAt, 'the page was not loaded again');
  await visit.page.goto(`${node.client.baseUrl}/turns/00000000-0000-4000-8000-000000000000`);
  await shows(visit.page, 'does not exist');
});
