// A turn with tools, from HTTP to the model, the tools and the ledger.
import test, { type ExecutionContext } from 'ava';
import { type Conversations, eventOf, startConversations } from '../support/servers/conversations.js';
import { sharedNodeWithOpenAi } from '../support/clients/direct-calls.js';
import { eventually } from '../support/clocks/eventually.js';
import { httpTool } from '../support/builders/published-agents.js';
import { answerJson, startMcpServer, startToolServer } from '../support/servers/tool-servers.js';
import { calling, lastMessages, lastResults, saying } from '../support/builders/tool-turns.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';
import { servedTime } from '../support/clocks/served-time.js';

const model = 'openai.gpt-4.1-mini';
const openai = new OpenAiServer();
const shared = sharedNodeWithOpenAi(test, openai, { DEFAULTS_FROM_CONTEXT_STRICT: 'on' });

/** A tenant that talks to its agent. */
const newTalk = async (t: ExecutionContext): Promise<Conversations> =>
  startConversations(await shared.tenant(t), model);

test.serial('tools receive bindings, the model does not, and readers see each call', async (t) => {
  const talk = await newTalk(t);
  const http = await startToolServer(t, (_, response) => answerJson(response, { balance: 12 }));
  const server = await startMcpServer(t);
  const agentId = await talk.agent(model, {}, [
    httpTool('balance', `${http.url}/accounts/\${context.account}`),
    {
      name: 'files',
      type: 'mcp',
      editor_schema: { mcp: { url: server.url, defaults_from_context: { owner: 'account' } } },
    },
  ]);
  openai.script(
    { ...calling(['balance', {}], ['files__echo', { owner: 'forged' }]), pieces: ['Let me see.'] },
    saying('You have ', '12.'),
  );
  const turn = await talk.say(
    {
      message: 'how much is left?',
      context: { account: 'from-context', city: 'Lima' },
      bindings: { account: 'bound-account' },
    },
    { agentId },
  );
  t.deepEqual(turn.outcomes, ['COMPLETED']);
  t.is(turn.response, 'Let me see.\n\nYou have 12.');
  t.is(turn.text, 'Let me see.\n\nYou have 12.');
  t.is(http.heard[0]?.path, '/accounts/bound-account');
  t.is(lastResults(openai)[0], '{"balance":12}');
  t.deepEqual(JSON.parse(lastResults(openai)[1] ?? ''), { owner: 'bound-account' });
  const [first] = lastMessages(openai).filter(({ role }) => role === 'user');
  t.true(JSON.stringify(first?.content).includes('Lima'));
  t.false(
    String(lastMessages(openai)[0]?.content).includes('Lima'),
    'context stays outside the system prompt',
  );
  t.false(JSON.stringify(openai.requests.at(-2)?.body).includes('bound-account'));
  const states = turn.events.flatMap(({ type, data }) =>
    type === 'tool' ? [`${String(data['name'])} ${String(data['state'])}`] : [],
  );
  for (const state of [
    'balance started',
    'balance finished',
    'files__echo started',
    'files__echo finished',
  ]) {
    t.is(states.filter((seen) => seen === state).length, 1, state);
  }
  t.is(states.length, 4);
  t.is(eventOf(turn, 'metrics')?.['tool_calls'], 2);

  const detail = await talk.get(`/api/v1/executions/${turn.executionId}`);
  t.deepEqual(
    detail.data.steps.map(({ name, state }: { name: string; state: string }) => `${name} ${state}`),
    ['agent.tool-loop finished', 'balance finished', 'files__echo finished', 'agent.tool-loop finished'],
  );
  t.is(http.heard[0]?.headers['idempotency-key'], `${turn.executionId}:2:0`);
});

test.serial('a missing tool parameter is reported to the model and the tool is not called', async (t) => {
  const talk = await newTalk(t);
  const http = await startToolServer(t, (_, response) => answerJson(response, {}));
  const agentId = await talk.agent(model, {}, [httpTool('balance', `${http.url}/\${context.account}`)]);
  openai.script(calling(['balance', {}]), saying('I need your account.'));
  const turn = await talk.say('how much is left?', { agentId });
  t.is(turn.response, 'I need your account.');
  t.regex(lastResults(openai)[0] ?? '', /^CONTEXT_PARAM_MISSING/);
  t.is(http.heard.length, 0);
});

test.serial('a cancel during a tool call closes its connection and keeps the text', async (t) => {
  const talk = await newTalk(t);
  let closed = 0;
  const slow = await startToolServer(t, (_, response) => {
    response.on('close', () => (closed += 1));
  });
  const agentId = await talk.agent(model, {}, [httpTool('slow', slow.url)]);
  openai.script({ ...calling(['slow', {}]), pieces: ['Let me see.'] });
  let sessionId = '';
  const reading = talk.say('wait for it', {
    agentId,
    onEvent: ({ type, data }) => {
      if (type === 'metadata') sessionId = String(data['session_id']);
    },
  });
  await eventually(() => slow.heard.length > 0);
  const cancelled = await talk.post(`/api/v1/sessions/${sessionId}/cancel`);
  // Neither the way to the answer nor the end of the turn, which both wait for the store.
  const servedMs = servedTime(t);
  t.true(cancelled.json.data.cancelled);
  await eventually(() => closed > 0);
  t.true(servedMs() < 1_000);
  const turn = await reading;
  t.deepEqual(turn.outcomes, ['CANCELLED']);
  t.is(turn.text, 'Let me see.');
});

test.serial('the response contains quick replies if the client declared them', async (t) => {
  const talk = await newTalk(t);
  const agentId = await talk.agent(model);
  const suggestion = calling(['suggest_quick_replies', { labels: ['Yes', 'No'] }]);
  openai.script({ ...suggestion, pieces: ['Shall I?'] });
  const turn = await talk.say({ message: 'do it', capabilities: { blocks: ['quick_replies'] } }, { agentId });
  t.like(eventOf(turn, 'response'), {
    content: 'Shall I?',
    blocks: [{ type: 'quick_replies', data: { labels: ['Yes', 'No'] } }],
  });
  openai.script(suggestion);
  const alone = await talk.say(
    { message: 'do it', capabilities: { blocks: ['quick_replies'] } },
    { agentId },
  );
  t.is(eventOf(alone, 'response')?.['content'], '');
  const { data: messages } = await talk.get(`/api/v1/sessions/${alone.sessionId}/messages`);
  t.like(messages.at(-1), { content: '1. Yes\n2. No', metadata: { content_from_blocks: true } });
});

test.serial('an agent without suggestions reports the quick_replies capability as ignored', async (t) => {
  const talk = await newTalk(t);
  const agentId = await talk.agent(model, { quick_replies_enabled: false });
  openai.script({ pieces: ['Plain.'] });
  const asked = { message: 'do it', capabilities: { blocks: ['cards', 'quick_replies'] } };
  const turn = await talk.say(asked, { agentId });
  t.like(eventOf(turn, 'metadata'), {
    accepted_fields: ['message'],
    ignored_fields: [
      { field: 'capabilities.blocks.cards', reason: 'not_supported' },
      { field: 'capabilities.blocks.quick_replies', reason: 'not_supported' },
    ],
  });
  t.is(eventOf(turn, 'response')?.['blocks'], undefined);
});

test.serial(
  'an answer that must fit a schema has no suggestions, and the capability is ignored',
  async (t) => {
    const talk = await newTalk(t);
    const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
    const response_format = { type: 'json_schema', json_schema: { name: 'city', schema } };
    const own = await talk.agent(model, { llm_config: { model, response_format } });
    const plain = await talk.agent(model);
    const asked = { message: 'do it', capabilities: { blocks: ['quick_replies'] } };
    const turns = [
      { agentId: own, body: asked, accepted: ['message'] },
      {
        agentId: plain,
        body: { ...asked, options: { response_format } },
        accepted: ['message', 'options.response_format'],
      },
    ];
    for (const { agentId, body, accepted } of turns) {
      openai.script({ pieces: ['{"city":"Lima"}'] });
      const turn = await talk.say(body, { agentId });
      const metadata = eventOf(turn, 'metadata');
      t.deepEqual(metadata?.['accepted_fields'], accepted);
      t.deepEqual(metadata?.['ignored_fields'], [
        { field: 'capabilities.blocks.quick_replies', reason: 'not_supported' },
      ]);
      t.deepEqual(eventOf(turn, 'response')?.['parsed'], { city: 'Lima' });
    }
  },
);
