import { randomUUID } from 'node:crypto';
import type { Role } from '../../../src/kernel/caller.js';
import { systemRandom, systemTime } from '../../../cluster/index.js';
import { tenantScope } from '../../../src/kernel/tenant-scope.js';
import { KeyAdministration } from '../../../src/tenancy/keys/index.js';
import { openStore } from '../../../src/infra/storage/index.js';
import { linkTo, mailsOf } from './account-mails.js';
import { operatorToken, type TenantNode } from '../servers/node.js';

export interface TestUser {
  readonly userId: string;
  readonly email: string;
  readonly password: string;
  readonly token: string;
}

export interface TestTenant {
  readonly tenantId: string;
  readonly users: Readonly<Record<Role, TestUser>>;
  readonly keys: Readonly<Record<Role, string>>;
}

/** A tenant with a user of each role, and a key of each; owner keys are made as the command line makes them. */
export async function makeTenant(node: TenantNode, plan = 'enterprise'): Promise<TestTenant> {
  const owner = await register(node);
  const tenantId = owner.tenantId;
  await node.client.call('PATCH', `/api/tenants/${tenantId}/plan`, { token: operatorToken, body: { plan } });
  const admin = await join(node, tenantId, owner.user, 'admin');
  const editor = await join(node, tenantId, owner.user, 'editor');
  const member = await join(node, tenantId, owner.user, 'member');
  const key = (role: string): Promise<string> => makeKey(node, tenantId, owner.user.token, role);
  return {
    tenantId,
    users: { owner: owner.user, admin, editor, member },
    keys: {
      owner: await makeOwnerKey(node, tenantId),
      admin: await key('admin'),
      editor: await key('editor'),
      member: await key('member'),
    },
  };
}

/** The same people with new access tokens, once the old ones have expired by the node's clock. */
export async function signInAgain(node: TenantNode, tenant: TestTenant): Promise<TestTenant> {
  const again = async (user: TestUser): Promise<TestUser> => {
    const { email, password } = user;
    const { status, json, text } = await node.client.call('POST', '/api/auth/login', {
      body: { email, password },
    });
    if (status !== 200) throw new Error(`signing in: ${status} ${text}`);
    return { ...user, token: json.data.access_token };
  };
  const { owner, admin, editor, member } = tenant.users;
  return {
    ...tenant,
    users: {
      owner: await again(owner),
      admin: await again(admin),
      editor: await again(editor),
      member: await again(member),
    },
  };
}

export async function register(node: TenantNode): Promise<{ user: TestUser; tenantId: string }> {
  const account = { email: `${randomUUID()}@test.example`, password: 'correct horse battery' };
  const { status, json, text } = await node.client.call('POST', '/api/auth/register', { body: account });
  if (status !== 201) throw new Error(`registering: ${status} ${text}`);
  const { user, tenants, access_token: token } = json.data;
  return { user: { ...account, userId: user.id, token }, tenantId: tenants[0].id };
}

/** An own account that joins the tenant by an invite, as a person would. */
async function join(node: TenantNode, tenantId: string, owner: TestUser, role: Role): Promise<TestUser> {
  const { user } = await register(node);
  const invited = await node.client.call('POST', `/api/tenants/${tenantId}/invites`, {
    token: owner.token,
    body: { email: user.email, role },
  });
  if (invited.status !== 201) throw new Error(`inviting: ${invited.status} ${invited.text}`);
  const accepted = await node.client.call('POST', '/api/invites/accept', {
    token: user.token,
    body: { token: await linkTo(mailsOf(node), 'join', user.email) },
  });
  if (accepted.status >= 300) throw new Error(`accepting: ${accepted.status} ${accepted.text}`);
  return user;
}

async function makeKey(node: TenantNode, tenant: string, token: string, role: string): Promise<string> {
  const { status, json, text } = await node.client.call('POST', '/api/keys', {
    token,
    tenant,
    body: { name: `${role} key`, role },
  });
  if (status !== 201) throw new Error(`making a key: ${status} ${text}`);
  return json.data.api_key;
}

/** Owner keys are made by the operator only, past HTTP. */
async function makeOwnerKey(node: TenantNode, tenantId: string): Promise<string> {
  const store = await openStore({
    databaseUrl: node.databaseUrl,
    connectionsMax: 1,
    directoryConnectionsMax: 1,
  });
  try {
    const keys = new KeyAdministration({ store, time: systemTime, random: systemRandom });
    const wish = { name: 'owner key', role: 'owner', prefix: 'svc_live_' } as const;
    return (await keys.create(tenantScope(tenantId), 'operator', wish)).apiKey;
  } finally {
    await store.close();
  }
}
