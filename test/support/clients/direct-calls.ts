import { setTimeout as delay } from 'node:timers/promises';
import type { TestFn } from 'ava';
import type { CallOptions, CallResult, Json } from './client.js';
import type { TenantNode } from '../servers/node.js';
import { sharedNode, type SharedNode } from '../servers/shared-node.js';
import { eventually } from '../clocks/eventually.js';
import { ownerView } from '../database/owner-view.js';
import type { VendorServer } from '../servers/vendors/vendor-server.js';

const publicCall = '/api/v3/llm/public/call';

/** A call with the demo tenant's API key, unless another credential is given. */
export function ask(
  node: TenantNode,
  body: Readonly<Record<string, unknown>>,
  credential: CallOptions = { key: node.bootstrap.api_key },
): Promise<CallResult> {
  return node.client.call('POST', publicCall, { ...credential, body: { query: 'Hello there', ...body } });
}

/**
 * The answer of a node that is served. A node or a database without a core for seconds refuses admission with 503 before
 * it counts; the caller asks again after the time that the refusal names.
 */
export function askServed(...asked: Parameters<typeof ask>): Promise<CallResult> {
  return eventually(
    async () => {
      const answer = await ask(...asked);
      if (answer.status !== 503) return answer;
      await delay(Number(answer.headers.get('retry-after')) * 1_000);
      return undefined;
    },
    { what: 'an admission' },
  );
}

/** The events of a streamed answer. */
export function framesOf({ text }: CallResult): Json[] {
  return text
    .split('\n\n')
    .filter((frame) => frame !== '')
    .map((frame) => JSON.parse(frame.replace(/^data: /, '')));
}

export async function startVendor<Server extends VendorServer>(
  t: { teardown(fn: () => Promise<void>): void },
  server: Server,
): Promise<Server> {
  await server.start();
  t.teardown(() => server.stop());
  return server;
}

/**
 * One node for the file, whose OpenAI is the given server. Each test finds the server as it began; since all tests share
 * it, they run one after the other.
 */
export function sharedNodeWithOpenAi<Context>(
  test: TestFn<Context>,
  server: VendorServer,
  environment: Readonly<Record<string, string>> = {},
): SharedNode {
  test.serial.beforeEach('the vendor forgets', () => server.forget());
  return sharedNode(test, async (atEnd) => {
    await startVendor(atEnd, server);
    return { environment: { ...openAiAt(server), ...environment } };
  });
}

/** The environment of a node whose OpenAI is the given server. */
export function openAiAt(server: VendorServer, key = platformKey): Record<string, string> {
  return { OPENAI_API_KEY: key, OPENAI_BASE_URL: server.baseUrl };
}

export const platformKey = 'sk-platform-0123456789';

export async function addOwnKey(node: TenantNode, provider: string, value: string): Promise<void> {
  const { access_token: token, tenant_id: tenant } = node.bootstrap;
  const body = { name: `${provider}-key`, kind: 'llm_key', provider, value };
  const { status, text } = await node.client.call('POST', '/api/secrets', { token, tenant, body });
  if (status !== 201) throw new Error(`adding a key: ${status} ${text}`);
}

/** Changes the demo tenant's plan. */
export async function setPlan(
  node: TenantNode,
  operatorToken: string,
  plan: string,
  settings: Readonly<Record<string, number>> = {},
): Promise<void> {
  const path = `/api/tenants/${node.bootstrap.tenant_id}/plan`;
  const { status, text } = await node.client.call('PATCH', path, {
    token: operatorToken,
    body: { plan, settings },
  });
  if (status !== 200) throw new Error(`changing the plan: ${status} ${text}`);
}

export interface UsageRow {
  readonly attempt_number: number;
  readonly call_id: string;
  readonly model: string;
  readonly payer: string;
  readonly outcome: string | null;
  readonly failure: string | null;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly usage_source: string | null;
}

/** All usage rows of the tenant, in the order of their opening, and the tokens that its months count. */
export async function booksOf(node: TenantNode): Promise<{ rows: readonly UsageRow[]; counted: number }> {
  const owner = await ownerView(node.databaseUrl);
  try {
    const { rows } = await owner.query<UsageRow>(
      `select attempt_number, call_id, model, payer, outcome, failure, input_tokens::int, output_tokens::int, usage_source
       from usage_rows where tenant_id = $1 order by opened_at, attempt_number`,
      [node.bootstrap.tenant_id],
    );
    const months = await owner.query<{ used: number }>(
      'select coalesce(sum(used), 0)::int as used from quota_months where tenant_id = $1',
      [node.bootstrap.tenant_id],
    );
    return { rows, counted: months.rows[0]?.used ?? 0 };
  } finally {
    await owner.end();
  }
}

/** Tokens of rows. */
export function sumOf(rows: readonly UsageRow[]): { input: number; output: number } {
  return rows.reduce(
    (sum, row) => ({ input: sum.input + row.input_tokens, output: sum.output + row.output_tokens }),
    { input: 0, output: 0 },
  );
}
