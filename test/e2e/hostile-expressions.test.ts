// Tenants' expressions on a whole node: none ends a process or delays another tenant.
import test from 'ava';
import { startTestNode, type TestNode } from '../support/servers/node.js';
import { makeTenant, type TestTenant } from '../support/builders/tenants.js';

/** Doubles a list a hundred times: takes all the time that it is given. */
const slow = `@${'|[@,@][]'.repeat(100)}`;
const quick = 'join(`", "`, items[*].name)';
const payload = { message: 'hi', items: [{ name: 'a' }, { name: 'b' }] };

interface Trier {
  readonly tenant: TestTenant;
  /** A dry run of a trigger with this expression. */
  try(): Promise<{
    status: number;
    json: { data: { query: string | null; blocked_by?: string } };
    headers: Headers;
  }>;
}

async function trierOf(node: TestNode, expression: string, plan = 'enterprise'): Promise<Trier> {
  const tenant = await makeTenant(node, plan);
  const asOwner = (method: string, path: string, body?: unknown) =>
    node.client.call(method, path, {
      token: tenant.users.owner.token,
      tenant: tenant.tenantId,
      ...(body === undefined ? {} : { body }),
    });
  const agent = await asOwner('POST', '/api/agents', { name: 'answers' });
  if (agent.status !== 201) throw new Error(agent.text);
  const published = await asOwner('POST', `/api/agents/${agent.json.data.id}/publish`);
  if (published.status !== 200) throw new Error(published.text);
  const trigger = await asOwner('POST', '/api/triggers', {
    agent_id: agent.json.data.id,
    name: 'tried',
    trigger_type: 'webhook',
    trigger_config: { query_extraction: { mode: 'jmespath', expression } },
  });
  if (trigger.status !== 201) throw new Error(trigger.text);
  return {
    tenant,
    try: () => asOwner('POST', `/api/triggers/${trigger.json.data.id}/test`, { payload }),
  };
}

// A node for each test: settings are tried, and clocks are set forward.
test.serial('a dry run refuses a padding to 400 MB, and the node continues', async (t) => {
  const node = await startTestNode(t);
  for (const expression of [
    "pad_left('a', `400000000`)",
    "upper(pad_left('a', `400000000`))",
    "reverse(pad_left('a', `400000000`))",
  ]) {
    const hostile = await trierOf(node, expression);
    const tried = await hostile.try();
    t.is(tried.status, 200, JSON.stringify(tried.json));
    t.like(tried.json.data, { query: null, would_run: false, blocked_by: 'payload' });
  }
  const other = await trierOf(node, quick);
  t.like((await other.try()).json.data, { query: 'a, b', would_run: true });
});

test.serial("sixty slow dry runs of one tenant do not delay another tenant's dry run", async (t) => {
  // Enough for some dozens; the rest is refused, so that the test ends in time.
  const node = await startTestNode(t, { environment: { TROUPE_SANDBOX_CPU_SECONDS: '5' } });
  const [noisy, loud, other] = [
    await trierOf(node, slow),
    await trierOf(node, slow),
    await trierOf(node, quick),
  ];
  let ended = 0;
  const all = [noisy, loud].flatMap((one) =>
    Array.from({ length: 60 }, async () => {
      // Requests over the budget are refused at once.
      if ((await one.try()).status === 200) ended += 1;
    }),
  );
  // Once some have ended, the queue is at its longest.
  await Promise.race(all);
  const before = ended;
  t.is((await other.try()).json.data.query, 'a, b');
  t.true(ended - before <= 8, `${ended - before} of 120 came before it`);
  await Promise.all(all);
});

test.serial('dry runs call no model and count as other requests of the user', async (t) => {
  const node = await startTestNode(t);
  const { try: tried } = await trierOf(node, quick, 'free');
  const answers = await Promise.all(Array.from({ length: 12 }, tried));
  t.deepEqual(
    answers.map(({ status, headers }) => [status, headers.get('x-ratelimit-limit')]),
    Array.from({ length: 12 }, () => [200, '300']),
    'ten a minute are the model work of the plan',
  );
});

test.serial('a tenant that used up its processor time is refused with a retry time', async (t) => {
  const node = await startTestNode(t, { environment: { TROUPE_SANDBOX_CPU_SECONDS: '1' } });
  const [hostile, other] = [await trierOf(node, slow), await trierOf(node, quick)];
  const tries = await Promise.all(Array.from({ length: 12 }, () => hostile.try()));
  const refused = tries.filter(({ status }) => status === 429);
  t.true(refused.length > 0, 'each takes a quarter of a second');
  const wait = Number(refused[0]?.headers.get('retry-after'));
  t.true(wait >= 1 && wait <= 60, `${wait} s`);
  t.is((await other.try()).status, 200);
  node.passMs(61_000);
  t.is((await hostile.try()).status, 200);
});
