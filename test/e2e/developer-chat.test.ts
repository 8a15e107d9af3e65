import { stat } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { commandLine } from '../support/clients/command-line.js';
import { atTerminal, ctrlC } from '../support/clients/terminal.js';
import { publishAgent } from '../support/builders/published-agents.js';
import { eventually } from '../support/clocks/eventually.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

test('login keeps the key for the later commands, readable by its owner alone', async (t) => {
  t.timeout(240_000);
  const node = await shared.tenant(t);
  const troupe = await commandLine(t, node);
  t.regex(await troupe.signedIn(['chat', 'x', 'hi'], { code: 1 }), /troupe login/);
  const wrong = ['login', '--url', node.client.baseUrl, '--key', 'svc_live_nobody'];
  t.regex(await troupe.signedIn(wrong, { code: 1 }), /invalid_api_key/);
  t.regex(await troupe.run(['login']), /Signed in at /);
  const { mode } = await stat(join(troupe.folder, 'troupe', 'credentials.json'));
  t.is(mode & 0o077, 0);
  const answer = await troupe.signedIn(['chat', node.bootstrap.agent_id, 'hello', 'there']);
  t.regex(answer, /^echo: hello there$/m);
  t.regex(answer, /^session [0-9a-f-]{36} {2}execution [0-9a-f-]{36}$/m);
  await troupe.signedIn(['logout']);
  t.regex(await troupe.signedIn(['chat', 'x', 'hi'], { code: 1 }), /troupe login/);
});

test('chat finds agents by name, continues a session, and prints events as JSON', async (t) => {
  t.timeout(240_000);
  const node = await shared.tenant(t);
  const troupe = await commandLine(t, node);
  const more = { name: 'helper' };
  await publishAgent(node.client, node.bootstrap, { model: 'sim.echo', more });
  t.regex(await troupe.run(['chat', 'helpr', 'hi'], { code: 1 }), /no agent helpr\. Did you mean "helper"\?/);
  const lines = (await troupe.run(['chat', 'helper', 'one', '--json'])).trim().split('\n');
  const events = lines.map((line) => JSON.parse(line) as { type: string; session_id?: string });
  t.is(events[0]?.type, 'metadata');
  t.is(events.at(-1)?.type, 'done');
  const session = events[0]?.session_id ?? '';
  const answer = await troupe.run(['chat', 'helper', 'two', '--session', session, '-q']);
  t.is(answer, 'echo: two\n');
  const { json } = await node.client.call('GET', `/api/v1/sessions/${session}/messages`, {
    key: node.bootstrap.api_key,
  });
  t.is(json.count, 4);
});

test('chat exits with 1 if the turn does not complete', async (t) => {
  t.timeout(240_000);
  const node = await shared.tenant(t);
  const troupe = await commandLine(t, node);
  const { session_id: session } = (
    await node.client.call('POST', '/api/sessions', {
      key: node.bootstrap.api_key,
      body: { agent_id: node.bootstrap.agent_id },
    })
  ).json.data;
  await node.client.call('POST', `/api/v1/sessions/${session}/handoff`, {
    key: node.bootstrap.api_key,
    body: {},
  });
  const words = ['chat', node.bootstrap.agent_id, 'hi', '--session', session];
  t.regex(await troupe.run(words, { code: 1 }), /^SUSPENDED$/m);
});

const bound = { timeoutMs: 60_000 };
const ids = {
  execution_id: '11111111-1111-4111-8111-111111111111',
  session_id: '22222222-2222-4222-8222-222222222222',
};
const frame = (id: number, type: string, data: object): string =>
  `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;

/** A platform whose turns get this far and end only when they are cancelled; `asked` has its requests. */
async function endlessTurns(t: ExecutionContext, begun: string) {
  const asked: string[] = [];
  let turn: ServerResponse | undefined;
  const platform = createServer((request, response) => {
    request.resume();
    asked.push(`${request.method} ${request.url}`);
    if (request.url?.endsWith('/stream') === true) {
      turn = response;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(frame(1, 'metadata', { ...ids, ignored_fields: [] }) + begun);
    } else {
      response.setHeader('content-type', 'application/json').end('{"data": {"cancelled": true}}');
      turn?.end(frame(9, 'done', { ...ids, outcome: 'CANCELLED' }));
    }
  });
  await new Promise<void>((resolve) => platform.listen(0, '127.0.0.1', resolve));
  t.teardown(() => platform.closeAllConnections());
  t.teardown(() => void platform.close());
  return { asked, url: `http://127.0.0.1:${(platform.address() as AddressInfo).port}` };
}

/** `troupe chat` at a terminal. */
function chatAtTerminal(t: ExecutionContext, url: string) {
  const environment = { TROUPE_BASE_URL: url, TROUPE_API_KEY: 'svc_test_x' };
  return atTerminal(t, ['chat', ids.session_id], environment);
}

test('Ctrl-C at a terminal cancels the turn, and the chat goes on', async (t) => {
  t.timeout(240_000);
  const { asked, url } = await endlessTurns(t, frame(2, 'delta', { content: 'I think that' }));
  const chat = chatAtTerminal(t, url);
  await chat.shows('›');
  chat.type('hi\r');
  await chat.shows('I think that');
  chat.type(ctrlC);
  await chat.shows('CANCELLED');
  t.true(asked.includes(`POST /api/v1/sessions/${ids.session_id}/cancel`), asked.join('\n'));
  await eventually(() => chat.output().split('›').length >= 3, bound);
  chat.type('/quit\r');
  t.is(await chat.ended, 1, chat.output());
  t.false(chat.output().includes('closed'), chat.output());
});

test('Ctrl-C at the question for an approval cancels the turn too', async (t) => {
  t.timeout(240_000);
  const approval = { approval_id: 'an-approval', tool: 'pay', arguments: { amount: 7 } };
  const { asked, url } = await endlessTurns(t, frame(2, 'approval', approval));
  const chat = chatAtTerminal(t, url);
  await chat.shows('›');
  chat.type('hi\r');
  await chat.shows('approve?');
  chat.type(ctrlC);
  await chat.shows('CANCELLED');
  t.false(asked.some((one) => one.includes('/approvals/')));
  chat.type('/quit\r');
  t.is(await chat.ended, 1, chat.output());
});

test('lines that are pasted, or typed while a turn runs, wait for its end', async (t) => {
  t.timeout(240_000);
  const { client, bootstrap } = await shared.tenant(t);
  const chat = atTerminal(t, ['chat', bootstrap.agent_id, '-q'], {
    TROUPE_BASE_URL: client.baseUrl,
    TROUPE_API_KEY: bootstrap.api_key,
  });
  await chat.shows('›');
  chat.type('one\rtwo\rthree\r/quit\r');
  t.is(await chat.ended, 0, chat.output());
  t.deepEqual(chat.output().match(/^echo: \w+$/gm), ['echo: one', 'echo: two', 'echo: three']);
});

test('Ctrl-C forgets the lines that wait, and Ctrl-D ends the chat after the turn', async (t) => {
  t.timeout(240_000);
  const { asked, url } = await endlessTurns(t, frame(2, 'delta', { content: 'I think that' }));
  const chat = chatAtTerminal(t, url);
  await chat.shows('›');
  chat.type('hi\r');
  await chat.shows('I think that');
  chat.type(`never mind\r${ctrlC}`);
  chat.endInput();
  t.is(await chat.ended, 1, chat.output());
  t.is(asked.filter((one) => one.endsWith('/stream')).length, 1, asked.join('\n'));
  t.true(chat.output().includes('CANCELLED'), chat.output());
});

test('Ctrl-C at the question for a key ends the command, and Ctrl-D gives no key', async (t) => {
  t.timeout(240_000);
  const login = () =>
    atTerminal(t, ['login', '--url', 'http://127.0.0.1:9'], { TROUPE_DATA_DIR: '/nowhere' });
  const [interrupted, left] = [login(), login()];
  await Promise.all([interrupted.shows('API key: '), left.shows('API key: ')]);
  interrupted.type(ctrlC);
  t.is(await interrupted.ended, 130, interrupted.output());
  t.notRegex(interrupted.output(), /troupe login:/);
  left.endInput();
  t.is(await left.ended, 2, left.output());
  t.regex(left.output(), /An API key is missing\./);
});
