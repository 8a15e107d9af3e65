// An id means the same thing in whatever case a request spells it.
import test from 'ava';
import { z } from 'zod';
import { httpTool } from '../support/builders/published-agents.js';
import { eventually } from '../support/clocks/eventually.js';
import { startConversations } from '../support/servers/conversations.js';
import { sharedNode } from '../support/servers/shared-node.js';
import { answerJson, startToolServer } from '../support/servers/tool-servers.js';

const shared = sharedNode(test);
const spelled = 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11';

type Schema = z.core.$ZodTypes;

/** The schemas of ids below this one, each with its path. */
function idsIn(schema: z.core.$ZodType, path: string, seen: Set<z.core.$ZodType>): [string, Schema][] {
  if (seen.has(schema)) return [];
  const within = new Set([...seen, schema]);
  const below = (inner: z.core.$ZodType, name = ''): [string, Schema][] =>
    idsIn(inner, `${path}${name}`, within);
  const one = schema as Schema;
  const { def } = one._zod;
  switch (def.type) {
    case 'string': {
      const format = 'format' in def ? def.format : undefined;
      return format === 'uuid' || format === 'guid' ? [[path, one]] : [];
    }
    case 'object':
      return Object.entries(def.shape).flatMap(([name, field]) => below(field, `.${name}`));
    case 'array':
      return below(def.element, '[]');
    case 'record':
      return below(def.valueType, '{}');
    case 'union':
      return def.options.flatMap((option) => below(option));
    case 'pipe':
      return [...below(def.in), ...below(def.out)];
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'nonoptional':
    case 'readonly':
    case 'catch':
      return below(def.innerType);
    case 'lazy':
      return below(def.getter());
    default:
      return [];
  }
}

test('every id of a path, a query and a body reaches its operation in lower case', async (t) => {
  const { node } = await shared.tenant(t);
  const found = node.table.operations.flatMap(({ name, params, query, body }) =>
    Object.entries({ params, query, body }).flatMap(([place, schema]) =>
      schema === undefined ? [] : idsIn(schema, `${name} ${place}`, new Set()),
    ),
  );
  t.true(found.length > 80, `${found.length} ids were found`);
  const kept = found.filter(([, schema]) => z.core.parse(schema, spelled) !== spelled.toLowerCase());
  t.deepEqual(
    kept.map(([at]) => at),
    [],
  );
});

test('a handoff by the id in upper case ends the turn of the same session', async (t) => {
  const talk = await startConversations(await shared.tenant(t));
  const agentId = await talk.agent('sim.lorem-200-20');
  let sessionId = '';
  let deltas = 0;
  const turn = talk.say('words', {
    agentId,
    onEvent: ({ type, data }) => {
      if (type === 'metadata') sessionId = String(data['session_id']);
      if (type === 'delta') deltas += 1;
    },
  });
  await eventually(() => deltas >= 3);
  await talk.post(`/api/v1/sessions/${sessionId.toUpperCase()}/handoff`);
  const atAnswer = deltas;
  t.deepEqual((await turn).outcomes, ['SUSPENDED']);
  t.is(deltas, atAnswer, 'nothing came after the handoff was answered');
});

test('the monitor of a session by its id in upper case does not run its turn a second time', async (t) => {
  const node = await shared.tenant(t);
  const talk = await startConversations(node);
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const tools = await startToolServer(t, async (_, response) => {
    await released;
    answerJson(response, {});
  });
  const agentId = await talk.agent('sim.tools', {}, [httpTool('look', `${tools.url}/look`)]);
  let sessionId = '';
  const turn = talk.say('look', {
    agentId,
    onEvent: ({ type, data }) => {
      if (type === 'metadata') sessionId = String(data['session_id']);
    },
  });
  await eventually(() => tools.heard.length === 1);
  const leave = new AbortController();
  t.teardown(() => leave.abort());
  const monitor = await fetch(`${node.client.baseUrl}/api/v1/sessions/${sessionId.toUpperCase()}/stream`, {
    headers: { 'x-api-key': node.bootstrap.api_key },
    signal: leave.signal,
  });
  t.is(monitor.status, 200);
  const reader = monitor.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (let seen = ''; !seen.includes('event: tool');) seen += (await reader?.read())?.value ?? '';
  t.is(tools.heard.length, 1, 'a second actor of the session would call again');
  release();
  t.deepEqual((await turn).outcomes, ['COMPLETED']);
  t.is(tools.heard.length, 1);
});
