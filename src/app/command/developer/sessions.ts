import type { Client } from '#client';
import { unknownAction } from '../command.js';
import { type Context, developerCommand } from './developer-command.js';
import { printPage } from './lists.js';
import { line, shown } from './output.js';

const actions = ['list', 'show', 'messages', 'handoff', 'suspend', 'resume', 'cancel', 'send', 'erase'];

export const sessionsCommand = developerCommand({
  usage: [
    'sessions list [--agent ID] [--consumer KEY] [--search WORDS] [--limit N]',
    'sessions show|messages|resume|cancel|erase <session>',
    'sessions handoff|suspend <session> [--reason TEXT] [--seconds N]',
    'sessions send <session> <message …>',
  ],
  summary:
    'Conversations. handoff and suspend take one from its agent, resume gives it back, cancel ends its running turn,\n' +
    'send writes to the person as an operator, erase deletes it with all its words.',
  options: {
    agent: { kind: 'text', about: 'of this agent, by id' },
    consumer: { kind: 'text', about: 'of this consumer_key' },
    search: { kind: 'text', about: 'with these words in the transcript' },
    limit: { kind: 'text', about: 'at most so many; 20 by default' },
    reason: { kind: 'text', about: 'why, for the others who look at it' },
    seconds: { kind: 'text', about: 'give it back after this time' },
    yes: { kind: 'flag', short: 'y', about: 'erase without asking' },
  },
  actions,
  run: async (context) => {
    const [action, id, ...words] = context.given.words;
    if (action === undefined || !actions.includes(action))
      throw context.wrong(unknownAction(action, actions));
    if (action === 'list') return list(context);
    if (id === undefined) throw context.wrong('a session is missing');
    const client = await context.client();
    if (action === 'messages') return messages(context, client, id);
    const answer = await ask(context, client, { action, id, message: words.join(' ') });
    context.out.json(answer);
  },
});

async function list(context: Context): Promise<void> {
  const { given } = context;
  const query = {
    agent_id: given.text('agent'),
    consumer_key: given.text('consumer'),
    search: given.text('search'),
  };
  const client = await context.client();
  await printPage(context, (limit) => client.sessions.list({ query: { ...defined(query), limit } }), {
    head: ['session', 'agent', 'consumer', 'channel', 'control', 'turns', 'last'],
    row: (session) => [
      session.session_id,
      session.agent_id,
      line(session.consumer_display_name ?? session.consumer_key, 24),
      session.channel,
      session.control_mode,
      String(session.total_turns),
      session.last_interaction ?? '',
    ],
  });
}

async function messages({ given, out }: Context, client: Client, id: string): Promise<void> {
  for await (const message of client.sessions.messages({ path: { id }, query: { limit: 100 } })) {
    if (given.flag('json')) out.json(message);
    else {
      out.print(`${out.style('bold', message.role)} ${out.style('dim', message.created_at)}`);
      out.print(`${shown(message.content)}\n`);
    }
  }
}

interface Asked {
  readonly action: string;
  readonly id: string;
  readonly message: string;
}

async function ask(context: Context, client: Client, { action, id, message }: Asked): Promise<unknown> {
  const { given } = context;
  const path = { id };
  const control = defined({ reason: given.text('reason'), expires_in_seconds: secondsOf(context) });
  switch (action) {
    case 'handoff':
      return (await client.sessions.handoff({ path, body: control })).data;
    case 'suspend':
      return (await client.sessions.suspend({ path, body: control })).data;
    case 'resume':
      return (await client.sessions.resume({ path })).data;
    case 'cancel':
      return (await client.sessions.cancel({ path })).data;
    case 'send':
      if (message === '') throw context.wrong('a message is missing');
      return (await client.sessions.manualMessage({ path, body: { message } })).data;
    case 'erase':
      if (!given.flag('yes')) throw context.wrong('an erased session is gone for good: add --yes');
      return client.sessions.erase({ path });
    default:
      return (await client.sessions.get({ path })).data;
  }
}

/** JSON has no form for what is not a number, and without a time the session is never given back. */
function secondsOf({ given, wrong }: Context): number | undefined {
  const text = given.text('seconds');
  if (text === undefined) return undefined;
  const seconds = Number(text);
  if (!Number.isInteger(seconds) || seconds < 1) throw wrong('--seconds must be a whole number from 1');
  return seconds;
}

/** Without the members that are undefined, which a query would write as words. */
export function defined<Fields extends object>(
  fields: Fields,
): { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}
