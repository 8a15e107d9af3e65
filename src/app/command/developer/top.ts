import { createClient, type Client } from '#client';
import { CommandError, table } from '../command.js';
import { type Context, developerCommand } from './developer-command.js';
import { lookLimits, type NodeSample, sampleOf } from './node-sample.js';
import { line, type Output } from './output.js';
import { wait } from './pause.js';

interface Tenant {
  readonly id: string;
  readonly name: string;
  readonly calls: number;
  readonly tokens: number;
  readonly cost: number;
}

interface Sample {
  readonly atMs: number;
  readonly nodes: readonly NodeSample[];
  readonly problems: readonly string[];
  readonly tenants: readonly Tenant[];
}

const tenantsMax = 1_000;
const tenantsShown = 15;

export const topCommand = developerCommand({
  usage: ['top [--node URL …] [--interval SECONDS] [--once]'],
  summary:
    'A live table of nodes and tenants, for the operator: needs TROUPE_OPERATOR_TOKEN, or troupe login --operator.\n' +
    'Requests, turns and lateness are those of the named nodes; all else is of the whole cluster. Ctrl-C ends it.',
  options: {
    node: { kind: 'list', about: 'the address of a node; several times; the one of the profile by default' },
    interval: { kind: 'text', about: 'seconds between two looks; 2 by default' },
    once: { kind: 'flag', about: 'print one table and end' },
  },
  run: async (context) => {
    const { given, out, signal } = context;
    const interval = Number(given.text('interval') ?? '2');
    if (!(interval >= 0.2 && interval <= 3_600)) throw context.wrong('--interval lies between 0.2 and 3600');
    const clients = await clientsOf(context);
    const isLive = out.isTerminal && !given.flag('once') && !given.flag('json');
    let before = await sample(clients, signal);
    // A rate needs two looks.
    await wait(interval * 1_000, signal);
    if (isLive) out.write(enterScreen);
    try {
      while (!signal.aborted) {
        const now = await sample(clients, signal, given.flag('once') ? undefined : before);
        const text = given.flag('json') ? JSON.stringify(figuresOf(before, now)) : screenOf(before, now, out);
        out.write(isLive ? `${clearScreen}${text}` : `${text}\n`);
        if (!isLive && !given.flag('json')) return;
        if (given.flag('once')) return;
        // The rates after a look that reached no node are those since the one before it.
        if (now.nodes.length > 0) before = now;
        await wait(interval * 1_000, signal);
      }
    } finally {
      if (isLive) out.write(leaveScreen);
    }
  },
});

const enterScreen = '\u001b[?1049h\u001b[?25l';
const clearScreen = '\u001b[2J\u001b[H';
const leaveScreen = '\u001b[?25h\u001b[?1049l';

type Clients = readonly { readonly url: string; readonly client: Client }[];

async function clientsOf({ given, profile }: Context): Promise<Clients> {
  const { url, operator_token: operatorToken, withheld } = await profile();
  if (operatorToken === undefined) {
    throw new CommandError(
      withheld.operator_token ??
        'The operator token is missing. Set TROUPE_OPERATOR_TOKEN to that of the nodes.',
    );
  }
  const urls = given.list('node').length === 0 ? [url] : given.list('node');
  return urls.map((one) => ({ url: one, client: createClient({ baseUrl: one, operatorToken }) }));
}

/**
 * A node that does not answer is named, and the others are shown. Without an earlier look, one of them has to answer: the
 * address or the token may be wrong.
 */
async function sample(clients: Clients, signal: AbortSignal, before?: Sample): Promise<Sample> {
  const looks = await Promise.allSettled(clients.map(({ client, url }) => sampleOf(client, url, signal)));
  const nodes = looks.flatMap((look) => (look.status === 'fulfilled' ? [look.value] : []));
  const problems = looks.flatMap((look, index) =>
    look.status === 'fulfilled' ? [] : [`${clients[index]?.url ?? ''}: ${messageOf(look.reason)}`],
  );
  const answering = clients.find(({ url }) => nodes.some((node) => node.url === url));
  const known = before?.tenants ?? [];
  if (answering === undefined) {
    if (before === undefined && !signal.aborted) throw new CommandError(problems.join('\n'));
    return { atMs: Date.now(), nodes, problems, tenants: known };
  }
  const tenants = await tenantsOf(answering.client, signal).catch((error: unknown) => {
    if (before === undefined) throw error;
    problems.push(`${answering.url}: ${messageOf(error)}`);
    return known;
  });
  return { atMs: Date.now(), nodes, problems, tenants };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function tenantsOf(client: Client, signal: AbortSignal): Promise<readonly Tenant[]> {
  const tenants: Tenant[] = [];
  const options = { signal, ...lookLimits };
  for await (const { id, name, month } of client.operator.tenants({ query: { limit: 100 } }, options)) {
    tenants.push({ id, name, calls: month.calls, tokens: month.tokens, cost: month.cost });
    if (tenants.length === tenantsMax) break;
  }
  return tenants;
}

/** Rates between two looks. */
function figuresOf(before: Sample, now: Sample) {
  const seconds = Math.max(0.001, (now.atMs - before.atMs) / 1_000);
  const rate = (from: number | undefined, to: number): number =>
    // A node that was started again counts from nothing.
    from === undefined || to < from ? 0 : Math.round(((to - from) / seconds) * 10) / 10;
  const seen = now.nodes[0]?.cluster.nodes ?? [];
  const earlier = before.nodes[0]?.cluster.nodes ?? [];
  return {
    nodes: seen.map((node) => {
      const own = now.nodes.find(({ process }) => process === node.process);
      const ownBefore = before.nodes.find(({ process }) => process === node.process);
      const old = earlier.find(({ process }) => process === node.process);
      const calls = ({ counts }: typeof node): number =>
        (counts['local_calls'] ?? 0) + (counts['remote_calls'] ?? 0);
      return {
        node: node.process,
        version: node.version,
        standing: node.standing,
        slots: node.slots,
        residents: node.residents,
        busy: node.mailboxes.busy,
        waiting: node.mailboxes.waiting,
        oldest_waiting_ms: Math.round(node.mailboxes.oldest_waiting_ms),
        actor_calls_per_second: rate(old === undefined ? undefined : calls(old), calls(node)),
        requests_per_second: own === undefined ? null : rate(ownBefore?.requests, own.requests),
        turns_per_second: own === undefined ? null : rate(ownBefore?.turns, own.turns),
        shed_per_second: own === undefined ? null : rate(ownBefore?.shed, own.shed),
        lateness_ms: own === undefined ? null : Math.round(own.latenessMs),
      };
    }),
    tenants: now.tenants
      .map((tenant) => {
        const old = before.tenants.find(({ id }) => id === tenant.id);
        return {
          ...tenant,
          calls_per_second: rate(old?.calls, tenant.calls),
          tokens_per_second: rate(old?.tokens, tenant.tokens),
        };
      })
      .toSorted((one, other) => other.calls_per_second - one.calls_per_second || other.calls - one.calls),
    problems: now.problems,
  };
}

function screenOf(before: Sample, now: Sample, out: Output): string {
  const { nodes, tenants, problems } = figuresOf(before, now);
  const known = (figure: number | null): string => (figure === null ? '–' : String(figure));
  const nodeRows = nodes.map((node) => [
    line(node.node, 32),
    line(node.version ?? '–', 16),
    node.standing,
    String(node.slots),
    String(node.residents),
    String(node.busy),
    String(node.waiting),
    String(node.oldest_waiting_ms),
    String(node.actor_calls_per_second),
    known(node.requests_per_second),
    known(node.turns_per_second),
    known(node.lateness_ms),
  ]);
  const tenantRows = tenants
    .slice(0, tenantsShown)
    .map((tenant) => [
      line(tenant.name, 32),
      String(tenant.calls_per_second),
      String(tenant.tokens_per_second),
      String(tenant.calls),
      String(tenant.tokens),
      tenant.cost.toFixed(2),
    ]);
  const parts = [
    out.style('bold', `Nodes  ${new Date(now.atMs).toISOString()}`),
    table([nodeHead, ...nodeRows]),
    ...problems.map((problem) => out.style('red', line(problem, 120))),
    '',
    out.style('bold', `Tenants  ${tenants.length}`),
    table([tenantHead, ...tenantRows]),
  ];
  return `${parts.join('\n')}\n`;
}

const nodeHead = [
  'node',
  'version',
  'standing',
  'slots',
  'actors',
  'busy',
  'waiting',
  'oldest ms',
  'actor calls/s',
  'requests/s',
  'turns/s',
  'late ms',
];
const tenantHead = ['tenant', 'calls/s', 'tokens/s', 'calls of the month', 'tokens', 'USD'];
