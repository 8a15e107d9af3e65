// A tenant as it looks after three weeks of work, for pictures of the console and for a look around. Everything is made by
// requests to the node, whose clock goes on between them.
import { createHmac } from 'node:crypto';
import type { Json } from '../clients/client.js';
import { ask } from '../clients/direct-calls.js';
import { eventually } from '../clocks/eventually.js';
import type { TenantNode } from '../servers/node.js';
import { answerJson, startToolServer, type ToolServer } from '../servers/tool-servers.js';
import { publishAgent } from './published-agents.js';
import { decide, handoff, refund, type Talk, talks } from './showcase-talks.js';
import { asOwner } from './triggers.js';

export { decide };

/** How long before now the story begins. */
export const storyMs = 21 * 86_400_000;

interface AtEnd {
  teardown(work: () => Promise<void>): void;
}

export interface Showcase {
  readonly agents: Readonly<Record<Talk['agent'], string>>;
  /** A conversation with tools, one with a person of the team, and one that waits for a decision. */
  readonly sessions: Readonly<Record<'told' | 'taken' | 'waiting', string>>;
  /** The turn of the first one. */
  readonly turn: string;
  readonly trigger: string;
}

/** The programs of the tenant: its tools, the receivers of its answers, and WhatsApp. */
export function startDesk(t: AtEnd): Promise<ToolServer> {
  return startToolServer(t, ({ path }, response) =>
    answerJson(
      response,
      path.startsWith('/invoices') ? invoice : booking,
      path.includes('/dead') ? 410 : 200,
    ),
  );
}

/** `passMs`: lets the clock of the node go on, by `storyMs` in all. */
export async function showcase(
  node: TenantNode,
  desk: ToolServer,
  passMs: (milliseconds: number) => void,
): Promise<Showcase> {
  await asOwner(node, 'POST', `/api/agents/${node.bootstrap.agent_id}/unpublish`, {});
  await asOwner(node, 'DELETE', `/api/agents/${node.bootstrap.agent_id}`);
  const agents = await makeAgents(node, desk);
  const keys = await makeAccess(node);
  await nightsAndDays(node, agents, keys, passMs);
  const triggers = await makeTriggers(node, agents, desk);
  for (const text of ['Add a stop in Porto', 'Send the tickets by post'])
    await send(node, triggers.changes, text);
  // The last hour, in which everything that is on screen happens.
  const told = await Promise.all(talks.map((talk) => speak(node, agents[talk.agent], talk)));
  const taken = await takeOver(node, triggers.whatsapp);
  const waiting = await waitForDecision(node, agents.concierge);
  const [first] = told;
  if (first === undefined) throw new Error('the first conversation is there');
  return {
    agents,
    sessions: { told: first.session, taken, waiting },
    turn: first.turn,
    trigger: triggers.changes,
  };
}

const booking = {
  reference: 'HT-20418',
  status: 'confirmed',
  hotel: 'Almada',
  from: '2026-12-12',
  nights: 4,
};
const invoice = { number: '2026-1183', nights: 3, total: 627, currency: 'EUR', status: 'open' };

async function post(node: TenantNode, path: string, body: object): Promise<Json> {
  const { status, json, text } = await node.client.call('POST', path, { key: node.bootstrap.api_key, body });
  if (status >= 300) throw new Error(`POST ${path}: ${status} ${text}`);
  return json;
}

async function owned(node: TenantNode, method: string, path: string, body?: object): Promise<Json> {
  const { status, json, text } = await asOwner(node, method, path, body);
  if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
  return json;
}

const tool = (name: string, description: string, url: string, required: readonly string[], more = {}) => ({
  name,
  description,
  type: 'api',
  parameters: {
    type: 'object',
    properties: Object.fromEntries(required.map((one) => [one, { type: 'string' }])),
    required,
  },
  editor_schema: { api: { url, auth: { type: 'none' } }, ...more },
});

async function makeAgents(node: TenantNode, { url }: ToolServer): Promise<Showcase['agents']> {
  const concierge = await publishAgent(node.client, node.bootstrap, {
    model: 'openai.gpt-5-mini',
    more: {
      name: 'concierge',
      commercial_name: 'Travel Concierge',
      bio: 'Answers guests about bookings, arrivals and changes, in their language.',
      tags: ['guests'],
      llm_config: {
        model: 'openai.gpt-5-mini',
        fallback_models: ['openai.gpt-4.1-mini'],
        system_prompt:
          'You are the concierge of Harbour Travel.\n\nAnswer guests briefly and warmly, in their own language. Look up the booking before you say anything about it. Never promise money: `refund_payment` asks a colleague first.\n\nIf a guest is upset or asks for a person, say that you pass them on.',
      },
      metadata: { budget: { usd: 0.5, period: 'month' } },
    },
    schemas: [
      tool('find_booking', 'Reads a booking by its reference.', `${url}/bookings`, ['reference']),
      tool('check_rooms', 'Free rooms of a hotel.', `${url}/rooms`, ['hotel', 'from']),
      tool('refund_payment', 'Pays money back to the card.', `${url}/refunds`, ['booking'], {
        approval: 'always',
      }),
    ],
  });
  const billing = await publishAgent(node.client, node.bootstrap, {
    model: 'openai.gpt-4.1-mini',
    more: {
      name: 'billing',
      commercial_name: 'Billing Assistant',
      bio: 'Explains invoices, corrects them, and sends payment links.',
      tags: ['guests', 'finance'],
      llm_config: {
        model: 'openai.gpt-4.1-mini',
        system_prompt: 'You help guests with invoices and payments.',
      },
    },
    schemas: [tool('find_invoice', 'Reads an invoice by its number.', `${url}/invoices`, ['number'])],
  });
  for (const [name, title, bio] of [
    ['reviews', 'Review Digest', 'Reads the reviews of the day and writes what they have in common.'],
    ['translator', 'Menu Translator', 'Translates menus and house rules; not published yet.'],
  ] as const) {
    await owned(node, 'POST', '/api/agents', {
      name,
      commercial_name: title,
      bio,
      llm_config: { model: 'openai.gpt-5.4-nano', system_prompt: bio },
    });
  }
  return { concierge, billing };
}

/** Keys with their values, the budgets, and people who were invited. */
async function makeAccess(node: TenantNode): Promise<readonly string[]> {
  const { tenant_id: id } = node.bootstrap;
  await owned(node, 'PATCH', `/api/tenants/${id}`, { budget: { usd: 12, period: 'month' } });
  const keys: string[] = [];
  for (const [name, usd] of [
    ['Booking engine', 4],
    ['Nightly digest', 2.5],
    ['Mobile app', 6],
  ] as const) {
    const { data } = await owned(node, 'POST', '/api/keys', { name, budget: { usd, period: 'month' } });
    keys.push(String(data.api_key));
  }
  for (const [name, kind, provider] of [
    ['openai-production', 'llm_key', 'openai'],
    ['crm-token', 'bearer', null],
    ['slack-harbour', 'generic', null],
  ] as const) {
    await owned(node, 'POST', '/api/secrets', { name, kind, provider, value: `value-of-${name}` }).catch(
      (error: unknown) => {
        if (kind !== 'llm_key') throw error;
      },
    );
  }
  for (const [email, role] of [
    ['marta@harbour.example', 'admin'],
    ['tomas@harbour.example', 'editor'],
  ] as const)
    await owned(node, 'POST', `/api/tenants/${id}/invites`, { email, role });
  return keys;
}

/** More by day than by night, and more from week to week. */
const callsAt = (hour: number, day: number): number =>
  Math.round(Math.max(0, Math.sin(((hour - 5) / 24) * 2 * Math.PI) + 0.35) * (2 + day / 10));

const models = ['openai.gpt-5-mini', 'openai.gpt-4.1-mini', 'openai.gpt-5.1', 'openai.gpt-5.4-nano'] as const;

/** Three weeks: days in steps of six hours, the last day by the hour. */
async function nightsAndDays(
  node: TenantNode,
  agents: Showcase['agents'],
  keys: readonly string[],
  passMs: (milliseconds: number) => void,
): Promise<void> {
  const hourMs = 3_600_000;
  let asked = 0;
  for (let leftMs = storyMs; leftMs > 0;) {
    const stepMs = leftMs > 26 * hourMs ? 6 * hourMs : hourMs;
    const at = new Date(Date.now() - leftMs);
    const calls = callsAt(at.getUTCHours(), Math.floor((storyMs - leftMs) / 86_400_000));
    // A step of six hours has the calls of its hours, but for the quietest.
    for (let count = 0; count < calls * (stepMs > hourMs ? 5 : 1); count += 1) {
      asked += 1;
      const key = keys[asked % keys.length] ?? node.bootstrap.api_key;
      const query = `Summarise the reviews of hotel ${1_000 + asked}. ${'The room was clean and the staff kind. '.repeat(400)}`;
      await ask(node, { model: models[(asked * 7) % 4], query, cache: false }, { key });
    }
    const talk = talks[asked % talks.length];
    if (calls > 1 && talk !== undefined) await speak(node, agents[talk.agent], talk);
    leftMs -= stepMs;
    passMs(stepMs);
  }
}

interface Spoken {
  readonly session: string;
  readonly turn: string;
}

async function speak(
  node: TenantNode,
  agent: string,
  { person, key, question }: Pick<Talk, 'person' | 'key' | 'question'>,
): Promise<Spoken> {
  const { status, text } = await node.client.call('POST', `/api/v2/agents/${agent}/stream`, {
    key: node.bootstrap.api_key,
    body: { message: question, consumer_key: key, consumer_display_name: person },
  });
  if (status !== 200) throw new Error(`a turn: ${status} ${text}`);
  const { session_id, execution_id } = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? '{}');
  return { session: String(session_id), turn: String(execution_id) };
}

/** The stream goes on while the turn waits, so it is left alone. */
async function waitForDecision(node: TenantNode, agent: string): Promise<string> {
  void speak(node, agent, refund).catch(() => undefined);
  return eventually(
    async () => {
      const { key } = { key: node.bootstrap.api_key };
      const { json } = await node.client.call('GET', '/api/v1/approvals?status=pending', { key });
      const id: unknown = json.data?.[0]?.session_id;
      return typeof id === 'string' ? id : undefined;
    },
    { timeoutMs: 60_000, what: 'a tool waits for a decision' },
  );
}

async function makeTriggers(
  node: TenantNode,
  { concierge, billing }: Showcase['agents'],
  { url }: ToolServer,
): Promise<Readonly<Record<'whatsapp' | 'changes', string>>> {
  const signedIn = await node.client.call('POST', '/api/auth/login', { body: node.bootstrap.owner });
  const fresh = { ...node, bootstrap: { ...node.bootstrap, access_token: signedIn.json.data.access_token } };
  const make = async (name: string, agent_id: string, trigger_type: string, trigger_config: object) => {
    const { data } = await owned(fresh, 'POST', '/api/triggers', {
      name,
      agent_id,
      trigger_type,
      trigger_config,
    });
    return String(data.id);
  };
  await make('Morning digest', billing, 'schedule', {
    cron: '0 7 * * MON-FRI',
    timezone: 'Europe/Lisbon',
    message: 'Write what guests asked most since yesterday.',
  });
  await make('Guest mail', concierge, 'email', {});
  const answered = (to: string) => ({
    auth: { type: 'none' },
    session_strategy: { mode: 'derive', fields: ['user'] },
    execution: { mode: 'async', callback: { url: `${url}${to}` } },
  });
  await make('Website form', concierge, 'webhook', answered('/answers'));
  await owned(fresh, 'POST', '/api/secrets', {
    name: 'whatsapp-harbour',
    kind: 'generic',
    value: JSON.stringify({ access_token: 'EAA-token', app_secret: appSecret }),
  });
  return {
    whatsapp: await make('WhatsApp of guests', concierge, 'webhook', {
      channel: { type: 'whatsapp_cloud', auth: { type: 'bearer', secret_ref: 'whatsapp-harbour' } },
      execution: { mode: 'async' },
    }),
    // Its receiver is gone, so that its answers become dead letters.
    changes: await make('Booking changes', concierge, 'webhook', answered('/dead/answers')),
  };
}

async function send(node: TenantNode, trigger: string, message: string): Promise<void> {
  const { status, text } = await node.client.call('POST', `/api/triggers/webhook/${trigger}`, {
    body: { message, user: message },
  });
  if (status >= 300) throw new Error(`a webhook: ${status} ${text}`);
}

const appSecret = 'app-secret-of-the-showcase';

const whatsappMessage = ({ person, key, question }: typeof handoff) => ({
  object: 'whatsapp_business_account',
  entry: [
    {
      id: '1',
      changes: [
        {
          field: 'messages',
          value: {
            messaging_product: 'whatsapp',
            metadata: { phone_number_id: '351210000000' },
            contacts: [{ wa_id: key, profile: { name: person } }],
            messages: [{ id: 'wamid.1', from: key, type: 'text', text: { body: question } }],
          },
        },
      ],
    },
  ],
});

/** A conversation that a person of the team goes on with. */
async function takeOver(node: TenantNode, trigger: string): Promise<string> {
  const body = JSON.stringify(whatsappMessage(handoff));
  const signature = createHmac('sha256', appSecret).update(body).digest('hex');
  const { status, text } = await node.client.call('POST', `/api/triggers/webhook/${trigger}`, {
    body,
    headers: { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` },
  });
  if (status >= 300) throw new Error(`a message of WhatsApp: ${status} ${text}`);
  const key = node.bootstrap.api_key;
  const session = await eventually(
    async () => {
      const { json } = await node.client.call('GET', `/api/v1/executions?status=completed&limit=100`, {
        key,
      });
      const one = (json.data as Json[]).find(({ trigger_id: id }) => id === trigger);
      return one === undefined ? undefined : String(one.session_id);
    },
    { timeoutMs: 60_000, what: 'the message was answered' },
  );
  await post(node, `/api/v1/sessions/${session}/handoff`, { reason: 'The guest asked for a person' });
  await post(node, `/api/v1/sessions/${session}/manual-message`, { message: handoff.manual });
  return session;
}
