// A budget holds for all nodes together, also while one of them is killed: real processes, a real Redis.
import test from 'ava';
import { Agent, setGlobalDispatcher } from 'undici';
import { openAiAt, startVendor } from '../support/clients/direct-calls.js';
import { eventually } from '../support/clocks/eventually.js';
import { ownerView } from '../support/database/owner-view.js';
import { operatorToken } from '../support/servers/node.js';
import { type NodeProcess, startNodes } from '../support/servers/nodes.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';

setGlobalDispatcher(new Agent({ pipelining: 0, connect: { timeout: 100_000 } }));

/** The vendor sees which node asks. */
const bodyOf = ({ name }: NodeProcess) => ({
  model: 'openai.gpt-4.1-mini',
  query: `hello ${name}`,
  max_tokens: 20,
});

/** The error, `ok`, or `lost` where the node died with the call. */
async function ask(node: NodeProcess, key: string): Promise<string> {
  try {
    const request = { key, body: bodyOf(node) };
    const { status, json } = await node.client.call('POST', '/api/v3/llm/public/call', request);
    return status === 200 ? 'ok' : `${status} ${json?.error}`;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return 'lost';
  }
}

test.serial(
  '512 calls over three nodes spend no more than the budget and the call that crosses it, while a node is killed',
  async (t) => {
    t.timeout(300_000);
    const vendor = await startVendor(t, new OpenAiServer());
    const { nodes, databaseUrl, cluster } = await startNodes(t, {
      count: 3,
      environment: { ...openAiAt(vendor), TROUPE_VERIFY_EMAIL: 'off' },
    });
    const [first, second, third] = nodes;
    if (first === undefined || second === undefined || third === undefined)
      throw new Error('there are three');
    const account = { email: 'owner@example.com', password: 'a long password', tenant_name: 'T' };
    const { json } = await first.client.call('POST', '/api/auth/register', { body: account });
    const token: string = json.data.access_token;
    const tenant: string = json.data.tenants[0].id;
    const settings = { requests_per_minute: 100_000, key_rpm_max: 100_000 };
    const plan = { plan: 'enterprise', settings };
    await first.client.call('PATCH', `/api/tenants/${tenant}/plan`, { token: operatorToken, body: plan });
    const create = async (fields: object): Promise<string> => {
      const given = { name: 'k', rateLimitPerMinute: 50_000, ...fields };
      const made = await first.client.call('POST', '/api/keys', { token, tenant, body: given });
      t.is(made.status, 201, made.text);
      return made.json.data.api_key;
    };
    const owner = await ownerView(databaseUrl);
    t.teardown(() => owner.end());
    const figure = async (text: string): Promise<number> => {
      const { rows } = await owner.query<{ value: string | null }>(text, [tenant]);
      return Number(rows[0]?.value ?? 0);
    };
    const limit = 0.00081;
    const key = await create({ budget: { usd: limit, period: 'month' } });
    t.is(await ask(first, key), 'ok');
    // The one that counts is killed, so that another takes over with calls under way.
    const { nodes: seen } = await cluster(first);
    const counting = seen.find(({ epochs }: { epochs: { kind: string; group: string }[] }) =>
      epochs.some(({ kind, group }) => kind.endsWith('QuotaService') && group === tenant),
    );
    const doomed = nodes.find(({ name }) => String(counting?.process).startsWith(`${name}-`)) ?? third;
    // Two of its calls get no answer, so that it has calls under way when it dies. They reserve before the
    // others: the budget holds about thirty calls, and those of the other nodes alone can use it up.
    let held = 0;
    vendor.decide = ({ text }) => {
      if (held === 2 || !text.includes(bodyOf(doomed).query)) return undefined;
      held += 1;
      return { hangBeforeHeaders: true };
    };
    const hanging = [ask(doomed, key), ask(doomed, key)];
    await eventually(() => held === 2);
    let answered = 0;
    const calls = Array.from({ length: 510 }, async (_, index) => {
      const outcome = await ask(nodes[index % 3] ?? first, key);
      if (outcome === 'ok') answered += 1;
      return outcome;
    });
    // The node dies between the first answer and the last: reservations of its own calls may fill the budget.
    await eventually(() => answered > 0, { everyMs: 5 });
    await doomed.kill();
    const outcomes = await Promise.all([...hanging, ...calls]);
    const alive = nodes.filter((node) => node !== doomed);
    // The budget is used to its end, also by the successor.
    const ends = async (): Promise<boolean> => {
      const answers = await Promise.all(alive.map((node) => ask(node, key)));
      return answers.every((answer) => answer === '429 quota_exceeded');
    };
    await eventually(ends, { timeoutMs: 150_000, everyMs: 250 });
    const open = `select count(*) as value from usage_rows where tenant_id = $1 and outcome is null`;
    await eventually(async () => (await figure(open)) === 0, { timeoutMs: 120_000, everyMs: 500 });
    const spent = await figure(
      `select sum(round(cost::numeric * 1000000000)) as value from usage_rows where tenant_id = $1`,
    );
    const largest = await figure(
      `select max(round(cost::numeric * 1000000000)) as value from usage_rows where tenant_id = $1`,
    );
    t.true(outcomes.includes('lost'), 'the node died with calls under way');
    t.true(
      spent >= limit * 1e9 && spent < limit * 1e9 + largest,
      `spent ${spent} of ${limit * 1e9}, ${JSON.stringify(tally(outcomes))}`,
    );
    const counted = await figure(`select sum(nanos) as value from spent_costs where tenant_id = $1`);
    t.is(counted, spent, 'the counter equals the ledger');
  },
);

function tally(outcomes: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const outcome of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}
