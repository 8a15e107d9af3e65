// Rule 10: suggested replies, as the model makes them and the session gets them.
import test from 'ava';
import type { TurnEnd, TurnStart } from '../../../../src/conversations/turns/index.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { answerJson, startToolServer } from '../../../support/servers/tool-servers.js';
import { calling, lastResults, lastTools, saying } from '../../../support/builders/tool-turns.js';
import {
  agentOf,
  type AgentWishes,
  noVendors,
  RecordingPorts,
  startTurns,
  type TurnsBench,
} from '../../../support/builders/turns.js';
import { OpenAiServer } from '../../../support/servers/vendors/openai-server.js';

const database = databaseOfFile(test);
const openai = new OpenAiServer();
let bench: TurnsBench;

test.serial.before(async () => {
  await openai.start();
  const vendors = { ...noVendors, openai: { apiKey: 'sk-test-0001', baseUrl: openai.baseUrl } };
  bench = await startTurns(database, { vendors });
});

test.after.always(() => openai.stop());

// Serial: the vendor follows one queue of scripts.

const model = 'openai.gpt-4.1-mini';

function findAt(url: string) {
  return { name: 'find', type: 'api', editor_schema: { api: { url, auth: { type: 'none' } } } };
}

function run(schemas: NonNullable<AgentWishes['schemas']>, more: Partial<TurnStart> = {}): Promise<TurnEnd> {
  const start = bench.start(agentOf({ llm: { model }, schemas }), 'do it', more);
  return bench.turns.run(start, new RecordingPorts());
}

test.serial(
  'suggestions alone end the turn without a text; suggestions beside a text come with it',
  async (t) => {
    const http = await startToolServer(t, (_, response) => answerJson(response, {}));
    const labels = ['Yes', ' No ', 'x'.repeat(80), 'Yes', 'four', 'five', 7];
    const suggested = ['Yes', 'No', `${'x'.repeat(59)}…`, 'four'];
    const blocks = [{ type: 'quick_replies', data: { labels: suggested } }] as const;
    const on = { quickReplies: true };
    openai.script(calling(['suggest_quick_replies', { labels }]));
    const alone = await run([], on);
    t.like(alone, { outcome: 'COMPLETED', content: '', toolCalls: 0 });
    t.deepEqual(alone.blocks, blocks);
    t.deepEqual(lastTools(openai), ['suggest_quick_replies']);
    openai.script({ ...calling(['suggest_quick_replies', { labels }]), pieces: ['Shall I?'] });
    t.like(await run([], on), { content: 'Shall I?', blocks });
    openai.script(
      calling(['suggest_quick_replies', { labels: ['a'] }], ['find', {}]),
      calling(['suggest_quick_replies', { labels: ['b'] }]),
    );
    const mixed = await run([findAt(http.url)], on);
    t.deepEqual(mixed.blocks, [{ type: 'quick_replies', data: { labels: ['a'] } }], 'one group a turn');
    openai.script(calling(['suggest_quick_replies', { labels: 'a' }]), saying('ok'));
    t.like(await run([], on), { content: 'ok', blocks: [] });
    t.deepEqual(lastResults(openai), ['labels must be a list of texts.']);
  },
);

test.serial('a greeting is answered without the tools, and may still suggest replies', async (t) => {
  const agent = agentOf({
    llm: { model },
    schemas: [findAt('http://127.0.0.1:9')],
  });
  openai.script(calling(['suggest_quick_replies', { labels: ['Yes', 'No'] }]));
  const end = await bench.turns.run(
    bench.start(agent, 'hello', { quickReplies: true }),
    new RecordingPorts(),
  );
  t.deepEqual(lastTools(openai), ['suggest_quick_replies']);
  t.like(end, { outcome: 'COMPLETED', content: '' });
  t.deepEqual(end.blocks, [{ type: 'quick_replies', data: { labels: ['Yes', 'No'] } }]);
});

test.serial(
  'suggestions are offered only to clients that declare them and by agents that make them',
  async (t) => {
    openai.script(saying('a'), saying('b'));
    await run([]);
    t.deepEqual(lastTools(openai), []);
    const agent = agentOf({ llm: { model }, quickReplies: false });
    await bench.turns.run(bench.start(agent, 'do it', { quickReplies: true }), new RecordingPorts());
    t.deepEqual(lastTools(openai), []);
  },
);
