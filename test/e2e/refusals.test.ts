import { randomUUID } from 'node:crypto';
import test from 'ava';
import { type Role, roles } from '../../src/kernel/caller.js';
import { allows, type Operation, spelled } from '../../src/http/operations/index.js';
import { startTestNode, type TestNode } from '../support/servers/node.js';
import { makeTenant, signInAgain, type TestTenant } from '../support/builders/tenants.js';

/**
 * Calls each operation of the table without a credential, with the wrong kind of credential, as each role, and with
 * another tenant's id. Every operation must refuse, except those in the lists below; the lists may only shrink.
 */
const openToStrangers = new Set([
  'auth.register',
  'auth.login',
  'auth.refresh',
  'auth.logout',
  'auth.jwks',
  'auth.verify',
  'auth.verify-page',
  'auth.password-forgot',
  'auth.password-reset',
  'auth.reset-page',
  'invites.accept',
  'invites.join-page',
  // How a browser signs in; its cookie is checked together with the origin (test/e2e/console-session.test.ts).
  'console-session.ways',
  'console-session.open',
  'console-session.renew',
  'console-session.end',
  'health.live',
  'health.ready',
  'telemetry.health',
  'errors.list',
  'errors.metrics',
  'documents.openapi',
  'documents.page',
  'playground.page',
  'playground.script',
  'playground.stream',
  'playground.style',
  // Each trigger defines its permitted senders.
  'triggers.webhook',
  'triggers.webhook-challenge',
  // Clients read them before they have a credential.
  'mcp.protected-resource',
  'mcp.protected-resource-of-path',
]);

/**
 * Open to every role by the specification, the operator's alone, or checked by the handler: a request for an owner key is
 * refused as invalid input before the role is checked (the keys' own tests check that).
 */
const withoutPermission = new Set([
  'auth.me',
  'auth.verify-resend',
  'auth.password',
  'auth.logout-all',
  'auth.delete-me',
  'tenants.create',
  'tenants.list',
  'tenants.read',
  'tenants.plan',
  'keys.create',
  'operator.tenants',
  'operator.tenant-create',
  'operator.tenant',
  'operator.tenant-suspend',
  'operator.tenant-resume',
  'operator.tenant-delete',
  'operator.tenant-rotate-data-key',
  'operator.users',
  'operator.user-disable',
  'operator.user-enable',
  'operator.usage',
  'operator.errors',
  'cluster.read',
  'cluster.drain',
  'metrics.read',
  'mcp.protected-resource',
  'mcp.protected-resource-of-path',
  // What a visitor of a page may do, its public key and its secret say (test/e2e/public-keys.test.ts).
  'visitors.create',
  'visitors.stream',
  'visitors.continue',
  'visitors.cancel',
  'visitors.messages',
  // Each tool has a permission of its own.
  'mcp.request',
]);

interface House {
  readonly node: TestNode;
  readonly own: TestTenant;
  readonly other: TestTenant;
}

// A node for each test: the first sets its clock forward for each operation.
test.serial('every operation refuses every caller without its permission', async (t) => {
  const node = await startTestNode(t);
  let house: House = { node, own: await makeTenant(node), other: await makeTenant(node) };
  const wrong: string[] = [];
  for (const [index, operation] of node.node.table.operations.entries()) {
    // Each operation takes a minute of the node's clock; an access token lives for sixty.
    if (index % 40 === 39) house = { ...house, own: await signInAgain(node, house.own) };
    wrong.push(...(await strangers(house, operation)));
    wrong.push(...(await wrongKinds(house, operation)));
    wrong.push(...(await lowerRoles(house, operation)));
    wrong.push(...(await foreignTenants(house, operation)));
    node.passMs(61_000);
  }
  t.deepEqual(wrong, []);
});

test.serial('the lists of exceptions name only existing operations', async (t) => {
  const node = await startTestNode(t);
  const names = new Set(node.node.table.operations.map(({ name }) => name));
  t.deepEqual(
    [...openToStrangers, ...withoutPermission].filter((name) => !names.has(name)),
    [],
  );
});

/** The test runs on the node's machine, whose requests some operations accept without a credential. */
const fromElsewhere = { headers: { via: '1.1 proxy' } };

async function strangers({ node, own }: House, operation: Operation): Promise<string[]> {
  if (operation.access.anonymous) {
    return openToStrangers.has(operation.name) ? [] : [`${operation.name} is open to strangers`];
  }
  if (openToStrangers.has(operation.name)) return [`${operation.name} is listed as open and is not`];
  const { status, json } = await node.client.call(operation.method, pathOf(operation, own.tenantId), {
    ...fromElsewhere,
    ...bodyOf(operation),
  });
  return expected(operation, 'a stranger', status, json, 401, codeWithout(operation));
}

async function wrongKinds({ node, own }: House, operation: Operation): Promise<string[]> {
  const { credentials } = operation.access;
  const wrong: string[] = [];
  const path = pathOf(operation, own.tenantId);
  const code = codeWithout(operation);
  if (credentials.size === 0) return [];
  if (!credentials.has('key') && !operation.access.anonymous) {
    const { status, json } = await node.client.call(operation.method, path, {
      ...fromElsewhere,
      key: own.keys.admin,
      ...bodyOf(operation),
    });
    wrong.push(...expected(operation, 'an API key', status, json, 401, code));
  }
  if (!credentials.has('user') && !credentials.has('operator')) {
    const { status, json } = await node.client.call(operation.method, path, {
      token: own.users.owner.token,
      tenant: own.tenantId,
      ...bodyOf(operation),
    });
    wrong.push(...expected(operation, 'an access token', status, json, 401, code));
  }
  if (credentials.has('operator')) {
    const { status } = await node.client.call(operation.method, path, {
      token: own.users.owner.token,
      ...bodyOf(operation),
    });
    if (status !== 401)
      wrong.push(`${operation.name} with a user's token in place of the operator's: ${status}`);
  }
  return wrong;
}

async function lowerRoles({ node, own }: House, operation: Operation): Promise<string[]> {
  const { permission, credentials } = operation.access;
  if (permission === null) {
    const open = openToStrangers.has(operation.name) || withoutPermission.has(operation.name);
    return open ? [] : [`${operation.name} needs no permission`];
  }
  const wrong: string[] = [];
  const code = codeOf(operation, 'insufficient_permissions');
  for (const role of roles.filter((one: Role) => !allows(one, permission))) {
    for (const credential of credentialsOf(own, role, credentials)) {
      const { status, json } = await node.client.call(operation.method, pathOf(operation, own.tenantId), {
        ...credential,
        ...bodyOf(operation),
      });
      wrong.push(...expected(operation, `the role ${role}`, status, json, 403, code));
    }
  }
  return wrong;
}

async function foreignTenants({ node, own, other }: House, operation: Operation): Promise<string[]> {
  const { tenant, credentials } = operation.access;
  if (tenant.from === 'none') return [];
  const wrong: string[] = [];
  const code = codeOf(operation, 'tenant_not_found');
  for (const foreign of [other.tenantId, randomUUID()]) {
    for (const credential of credentialsOf(own, 'owner', credentials)) {
      const { status, json } = await node.client.call(operation.method, pathOf(operation, foreign), {
        ...credential,
        tenant: foreign,
        ...bodyOf(operation),
      });
      wrong.push(...expected(operation, 'a foreign tenant', status, json, 404, code));
    }
  }
  return wrong;
}

function credentialsOf(tenant: TestTenant, role: Role, kinds: Operation['access']['credentials']) {
  return [
    ...(kinds.has('user') ? [{ token: tenant.users[role].token, tenant: tenant.tenantId }] : []),
    ...(kinds.has('key') ? [{ key: tenant.keys[role] }] : []),
  ];
}

/** Ids of things that do not exist, in the tenant that is meant. */
function pathOf({ path, access }: Operation, tenantId: string): string {
  return path.replaceAll(/:([^/]+)/g, (_, name: string) =>
    access.tenant.from === 'path' && access.tenant.parameter === name ? tenantId : randomUUID(),
  );
}

function bodyOf({ method }: Operation): { body?: unknown } {
  return method === 'GET' || method === 'DELETE' ? {} : { body: {} };
}

/** The error for a missing credential. A public key is part of the path, so there is always one, of nobody. */
function codeWithout(operation: Operation): string {
  const isInPath = operation.access.credentials.has('public-key');
  return codeOf(operation, isInPath ? 'invalid_api_key' : 'authentication_required');
}

function codeOf({ dialect }: Operation, code: Parameters<typeof spelled>[0]): string {
  return spelled(code, dialect);
}

function expected(
  operation: Operation,
  who: string,
  status: number,
  json: { error?: string | { code?: string } } | undefined,
  wantedStatus: number,
  wantedCode: string,
): string[] {
  const code = typeof json?.error === 'object' ? json.error.code : json?.error;
  if (status === wantedStatus && code === wantedCode) return [];
  return [`${operation.name} for ${who}: ${status} ${code ?? ''}, not ${wantedStatus} ${wantedCode}`];
}
