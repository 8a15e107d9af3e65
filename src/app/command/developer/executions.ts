import { unknownAction } from '../command.js';
import { type Context, developerCommand } from './developer-command.js';
import { printPage } from './lists.js';
import { line } from './output.js';
import { defined } from './sessions.js';

const actions = ['list', 'show', 'follow'];

export const executionsCommand = developerCommand({
  usage: [
    'executions list [--agent ID] [--session ID] [--status STATUS] [--trace ID] [--limit N]',
    'executions show <execution>',
    'executions follow <execution> [--after EVENT]',
  ],
  summary: 'Turns. show prints one with its steps; follow prints its events, those to come too.',
  options: {
    agent: { kind: 'text', about: 'of this agent, by id' },
    session: { kind: 'text', about: 'of this session' },
    status: { kind: 'text', about: 'with this status: running, failed, …' },
    trace: { kind: 'text', about: 'with this metadata.trace_id' },
    limit: { kind: 'text', about: 'at most so many; 20 by default' },
    after: { kind: 'text', about: 'the events after this one' },
  },
  actions,
  run: async (context) => {
    const { given, out } = context;
    const [action, id] = given.words;
    if (action === undefined || !actions.includes(action))
      throw context.wrong(unknownAction(action, actions));
    if (action === 'list') return list(context);
    if (id === undefined) throw context.wrong('an execution is missing');
    const client = await context.client();
    if (action === 'show') {
      const { data } = await client.executions.get({ path: { id } });
      out.write(`${JSON.stringify(data, null, given.flag('json') ? 0 : 2)}\n`);
      return;
    }
    const after = given.text('after');
    const options = { signal: context.signal, ...(after !== undefined && { lastEventId: after }) };
    for await (const event of client.executions.follow(id, options)) out.json(event);
  },
});

async function list(context: Context): Promise<void> {
  const { given } = context;
  const query = defined({
    agent_id: given.text('agent'),
    session_id: given.text('session'),
    trace_id: given.text('trace'),
    status: given.text('status') as 'running' | undefined,
  });
  const client = await context.client();
  await printPage(context, (limit) => client.executions.list({ query: { ...query, limit } }), {
    head: ['execution', 'status', 'model', 'tokens', 'cost', 'ms', 'started', 'error'],
    row: (one) => [
      one.id,
      one.status,
      one.model ?? '',
      String(one.usage?.total_tokens ?? ''),
      one.cost.toFixed(4),
      String(one.latency_ms ?? ''),
      one.started_at ?? '',
      line(one.error?.message, 50),
    ],
  });
}
