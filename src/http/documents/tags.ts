import type { OperationTable } from '../operations/index.js';
import type { Json } from './schema-book.js';

/** What the first word of an operation's name stands for. */
const tags: Readonly<Record<string, readonly [title: string, description: string]>> = {
  llm: ['Model calls', 'Calls of language models by their names, or by `auto`.'],
  compat: [
    "Vendors' interfaces",
    "The interfaces of OpenAI's and Anthropic's clients, with the same models, limits and ledger.",
  ],
  agents: ['Agents', 'Assistants with a persona, a model, tools and policies.'],
  'agent-schemas': ['Tools of agents', 'HTTP calls, MCP servers and other agents that an agent may use.'],
  'agent-versions': [
    'Versions of agents',
    'Snapshots that a publication makes, to compare and to return to.',
  ],
  sessions: ['Sessions', 'Conversations with agents: reading, watching, taking over, answering by hand.'],
  visitors: ['Visitors', 'The chat of a web page, by a public key that is bound to agents and origins.'],
  executions: ['Executions', 'The durable records of turns.'],
  approvals: ['Approvals', "People's decisions on calls of tools."],
  attachments: ['Attachments', 'Images and files of messages.'],
  consumers: ['Consumers', 'The people that integrations and channels name, and the denylist.'],
  realtime: ['Realtime events', 'Events of the tenant as they happen, by WebSocket or server-sent events.'],
  triggers: ['Triggers', 'Webhooks, mail, schedules and database events that start turns.'],
  deliveries: ['Deliveries', 'Answers on their way to callbacks and channels.'],
  databases: ['Databases', 'PostgreSQL databases of the tenant, for triggers of type `db_event`.'],
  'mail-domains': ['Mail domains', 'Domains at which the tenant receives mail for triggers.'],
  auth: ['Accounts', 'Registration, sign-in, tokens and passwords.'],
  'console-session': [
    'Sign-in of browsers',
    'Sign-ins whose refresh token is in a cookie that scripts do not see.',
  ],
  playground: ['Playground', 'The files of a page to talk to agents.'],
  tenants: ['Tenants', "Customers' accounts, their settings and budgets."],
  members: ['Members', 'The users of a tenant and their roles.'],
  invites: ['Invites', 'Invitations into a tenant.'],
  keys: ['API keys', 'Keys of a tenant with a role, limits and a budget.'],
  secrets: ['Secrets', 'Encrypted values, and where they may be sent.'],
  quota: ['Quota', 'The tokens of the month.'],
  billing: ['Billing', 'The plan, and what the tenant used.'],
  telemetry: ['Telemetry', 'Calls, tokens, latency, caches and cost in figures.'],
  audit: ['Audit', 'Who changed what, when, and by which request.'],
  exports: ['Exports', 'Files with all rows of a kind.'],
  errors: ['Recent errors', 'The latest errors of the node, without data of tenants.'],
  mcp: ['MCP', 'The Model Context Protocol: the operations as tools.'],
  operator: ['Operator', 'Tenants, users and errors of the whole installation.'],
  cluster: ['Cluster', 'The nodes and what they own.'],
  health: ['Health', 'Whether the node lives, and whether it is ready.'],
  metrics: ['Metrics', "Figures in Prometheus' format."],
  documents: ['Documents', 'This document, and the pages made of it.'],
};

export function tagOf(operationName: string): string {
  return operationName.split('.')[0] ?? '';
}

/** `tags`, of which each has a title for people. The names stay those that operations begin with. */
export function describedTags({ operations }: OperationTable): readonly Json[] {
  const used = [...new Set(operations.map(({ name }) => tagOf(name)))];
  const known = Object.keys(tags);
  const placeOf = (name: string): number => (known.includes(name) ? known.indexOf(name) : known.length);
  return used
    .toSorted((one, other) => placeOf(one) - placeOf(other))
    .map((name) => {
      const [title = name, description = `Operations of ${name}.`] = tags[name] ?? [];
      return { name, 'x-displayName': title, description };
    });
}
