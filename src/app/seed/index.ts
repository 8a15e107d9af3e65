import { randomBytes, randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Caller } from '../../kernel/caller.js';
import { PlatformError } from '../../kernel/errors.js';
import type { NewAccount } from '../../tenancy/identity/index.js';
import { invoke, type OperationTable } from '../../http/operations/index.js';
import { type Bootstrap, readBootstrap, writeBootstrap } from './bootstrap.js';

export type { Bootstrap } from './bootstrap.js';

export interface SeedParts {
  readonly table: OperationTable;
  readonly dataDir: string;
  /** The model of the demo agent: the simulated vendor, if it is on. */
  readonly model: string;
  readonly baseUrl: string;
  readonly tenantUrl: string;
  /** Registers an account as the operator, whatever `TROUPE_REGISTRATION` says. */
  readonly register: (account: NewAccount) => Promise<unknown>;
  /** The caller for a signed-in user in a tenant. */
  readonly callerOf: (userId: string, tenantId: string) => Promise<Caller>;
}

const signedIn = z.object({
  data: z.object({
    user: z.object({ id: z.uuid() }),
    tenants: z.array(z.object({ id: z.uuid() })),
    access_token: z.string(),
  }),
});
const madeKey = z.object({ data: z.object({ api_key: z.string() }) });
const madeAgent = z.object({ data: z.object({ id: z.uuid() }) });

/**
 * Creates a demo tenant with a user, a key and a published agent, once; each start writes `bootstrap.json` again, with
 * a fresh access token. Everything but the registration goes through the operations, like a request from outside.
 */
export async function seedDemo(parts: SeedParts): Promise<Bootstrap> {
  const earlier = await readBootstrap(parts.dataDir);
  const known = earlier === undefined ? undefined : await signInAgain(parts, earlier);
  const bootstrap = known ?? (await make(parts));
  await writeBootstrap(parts.dataDir, bootstrap);
  return bootstrap;
}

/** Undefined if the file belongs to another database, or if its tenant was deleted. */
async function signInAgain(parts: SeedParts, earlier: Bootstrap): Promise<Bootstrap | undefined> {
  try {
    const { data } = signedIn.parse(await call(parts, 'auth.login', anonymous, { ...earlier.owner }));
    if (!data.tenants.some(({ id }) => id === earlier.tenant_id)) return undefined;
    return {
      ...earlier,
      base_url: parts.baseUrl,
      tenant_url: parts.tenantUrl,
      access_token: data.access_token,
    };
  } catch (error) {
    if (error instanceof PlatformError && error.code === 'invalid_credentials') return undefined;
    // Failed sign-ins have blocked the demo account for a while. The node starts nevertheless, with the old access
    // token.
    if (error instanceof PlatformError && error.code === 'rate_limit_exceeded') {
      return { ...earlier, base_url: parts.baseUrl, tenant_url: parts.tenantUrl };
    }
    throw error;
  }
}

async function make(parts: SeedParts): Promise<Bootstrap> {
  // A random part in the address: the account of a lost bootstrap.json still exists, and its password is lost.
  const owner = {
    email: `owner-${randomBytes(3).toString('hex')}@demo.example`,
    password: randomBytes(15).toString('base64url'),
  };
  const account = { ...owner, name: 'Demo Owner', tenantName: 'Demo' };
  const { data } = signedIn.parse(await parts.register(account));
  const [tenant] = data.tenants;
  if (tenant === undefined) throw new Error('the demo account was registered without a tenant');
  const tenantId = tenant.id;
  await call(parts, 'tenants.plan', operator, { plan: 'enterprise' }, { id: tenantId });
  const caller = await parts.callerOf(data.user.id, tenantId);
  const key = madeKey.parse(await call(parts, 'keys.create', caller, { name: 'Demo key', role: 'admin' }));
  const agent = madeAgent.parse(await call(parts, 'agents.create', caller, demoAgent(parts.model)));
  await call(parts, 'agents.publish', caller, {}, { id: agent.data.id });
  return {
    base_url: parts.baseUrl,
    tenant_url: parts.tenantUrl,
    tenant_id: tenantId,
    owner,
    access_token: data.access_token,
    api_key: key.data.api_key,
    agent_id: agent.data.id,
  };
}

const anonymous: Caller = { kind: 'anonymous', address: '127.0.0.1' };
const operator: Caller = { kind: 'operator', address: '127.0.0.1' };

function demoAgent(model: string) {
  return {
    name: 'demo-assistant',
    commercial_name: 'Demo Assistant',
    bio: 'Answers by echo, so that everything can be tried without a vendor.',
    type: 'assistant',
    llm_config: { model, temperature: 0.7 },
  };
}

function call(
  parts: SeedParts,
  name: string,
  caller: Caller,
  body: unknown,
  params: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  return invoke(parts.table.named(name), { caller, body, params, requestId: `seed-${randomUUID()}` });
}
