import type { Client } from '#client';
import { isId, unknownAction } from '../command.js';
import { type Context, developerCommand } from './developer-command.js';
import { printPage } from './lists.js';
import { triggerNamed } from './names.js';
import { line } from './output.js';
import { payloadOf } from './payload.js';
import { defined } from './sessions.js';

const actions = ['list', 'show', 'executions', 'enable', 'disable', 'test', 'invoke', 'delete'];

export const triggersCommand = developerCommand({
  usage: [
    'triggers list [--agent ID] [--limit N]',
    'triggers show|enable|disable|delete <trigger>',
    'triggers executions <trigger> [--status STATUS] [--limit N]',
    'triggers test|invoke <trigger> [--data JSON | --data @FILE | --data -]',
  ],
  summary:
    'Triggers, by name or id. test shows what a payload would do, without running it; invoke runs it.\n' +
    'troupe apply makes and changes them.',
  options: {
    agent: { kind: 'text', about: 'of this agent, by id' },
    status: { kind: 'text', about: 'with this status' },
    limit: { kind: 'text', about: 'at most so many; 20 by default' },
    data: { kind: 'text', short: 'd', about: 'the payload: JSON, @ and a file, or - for standard input' },
    yes: { kind: 'flag', short: 'y', about: 'delete without asking' },
  },
  actions,
  run: async (context) => {
    const { given, out } = context;
    const [action, word] = given.words;
    if (action === undefined || !actions.includes(action))
      throw context.wrong(unknownAction(action, actions));
    const client = await context.client();
    if (action === 'list') return list(context, client);
    if (word === undefined) throw context.wrong('a trigger is missing');
    const id = isId(word) ? word : (await triggerNamed(client, word)).id;
    if (action === 'executions') return executions(context, client, id);
    const answer = await ask(context, client, { action, id });
    out.write(`${JSON.stringify(answer, null, given.flag('json') ? 0 : 2)}\n`);
  },
});

async function list(context: Context, client: Client): Promise<void> {
  const query = defined({ agent_id: context.given.text('agent') });
  await printPage(context, (limit) => client.triggers.list({ query: { ...query, limit } }), {
    head: ['trigger', 'name', 'type', 'enabled', 'next or address'],
    row: (one) => [
      one.id,
      line(one.name, 32),
      one.trigger_type,
      one.enabled ? 'yes' : 'no',
      one.next_runs?.[0] ?? one.webhook_url ?? '',
    ],
  });
}

async function executions(context: Context, client: Client, id: string): Promise<void> {
  const query = defined({ status: context.given.text('status') as 'failed' | undefined });
  const load = (limit: number) => client.triggers.executions({ path: { id }, query: { ...query, limit } });
  await printPage(context, load, {
    head: ['execution', 'status', 'delivery', 'ms', 'created', 'input'],
    row: (one) => [
      one.id,
      one.status,
      one.delivery_status,
      String(one.latency_ms ?? ''),
      one.created_at,
      line(one.input_preview, 50),
    ],
  });
}

async function ask(
  context: Context,
  client: Client,
  { action, id }: { readonly action: string; readonly id: string },
): Promise<unknown> {
  const path = { id };
  const data = context.given.text('data');
  const payload = data === undefined ? {} : await payloadOf(data);
  switch (action) {
    case 'enable':
      return (await client.triggers.enable({ path })).data;
    case 'disable':
      return (await client.triggers.disable({ path })).data;
    case 'test':
      return (await client.triggers.test({ path, body: { payload } })).data;
    case 'invoke':
      return client.triggers.invoke({ path, body: payload as never });
    case 'delete':
      if (!context.given.flag('yes')) throw context.wrong('a deleted trigger is gone for good: add --yes');
      return client.triggers.delete({ path });
    default:
      return (await client.triggers.get({ path })).data;
  }
}
