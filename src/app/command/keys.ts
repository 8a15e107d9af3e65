import { z } from 'zod';
import { type TenantScope, tenantScope } from '../../kernel/tenant-scope.js';
import { type KeyAdministration, operatorKey } from '../../tenancy/keys/index.js';
import { type Command, CommandError, isId, readWords, table, type Words, wrongWords } from './command.js';
import type { Identity } from '../../tenancy/identity/index.js';
import { withManagement } from './management.js';

const words =
  'keys create [--tenant ID] [--name NAME] [--role owner|admin|editor|member] [--prefix svc_live_|svc_test_|svc_dev_] [--rpm N] [--quota N] [--expires-days N] | list [--tenant ID] | revoke [--tenant ID] KEY_ID; the tenant may be left out where there is one alone';

const options = {
  tenant: undefined,
  name: undefined,
  role: 'admin',
  prefix: 'svc_live_',
  rpm: undefined,
  quota: undefined,
  'expires-days': undefined,
};

export const keysCommand: Command = {
  run: async (rest, environment) => {
    const { values, positionals } = readWords(rest, options, words);
    const [action, keyId] = positionals;
    const tenantId = values['tenant'];
    if (tenantId !== undefined && !isId(tenantId))
      throw wrongWords('--tenant is not the id of a tenant', words);
    // The words are judged before anything is opened.
    const act = actionOf(action, keyId, values);
    await withManagement(environment, async ({ keys, identity }) =>
      act(keys, tenantScope(tenantId ?? (await onlyTenant(identity)))),
    );
  },
};

async function onlyTenant({ tenants }: Identity): Promise<string> {
  const [first, ...others] = await tenants.listAll();
  if (first === undefined) throw new CommandError('There is no tenant yet: troupe tenants create NAME');
  if (others.length === 0) return first.id;
  throw wrongWords(`--tenant is missing, and there are ${others.length + 1}: troupe tenants list`, words);
}

type Act = (keys: KeyAdministration, scope: TenantScope) => Promise<void>;

function actionOf(action: string | undefined, keyId: string | undefined, values: Words['values']): Act {
  switch (action) {
    case 'create':
      return create(values);
    case 'list':
      return list;
    case 'revoke':
      if (keyId === undefined || !isId(keyId)) throw wrongWords('name the id of the key', words);
      return async (keys, scope) => {
        await keys.revoke(scope, 'operator', keyId);
        process.stdout.write(`Revoked ${keyId}.\n`);
      };
    default:
      throw wrongWords(`there is no action ${action ?? ''}`, words);
  }
}

function create(values: Words['values']): Act {
  const wish = operatorKey.safeParse({
    name: values['name'] ?? `${values['role']} key`,
    role: values['role'],
    prefix: values['prefix'],
    rateLimitPerMinute: numberOf(values['rpm'], '--rpm'),
    quotaLimit: numberOf(values['quota'], '--quota'),
    expiresInDays: numberOf(values['expires-days'], '--expires-days'),
  });
  if (!wish.success) throw wrongWords(z.prettifyError(wish.error), words);
  return async (keys, scope) => {
    const made = await keys.create(scope, 'operator', wish.data);
    process.stderr.write(`Made the ${made.role} key ${made.id}. It is shown only now.\n`);
    process.stdout.write(`${made.apiKey}\n`);
  };
}

async function list(keys: KeyAdministration, scope: TenantScope): Promise<void> {
  const { items } = await keys.list(scope);
  const rows = items.map((key) => [key.id, key.prefix + key.suffix, key.role, key.status, key.name]);
  process.stdout.write(`${table([['id', 'key', 'role', 'status', 'name'], ...rows])}\n`);
}

function numberOf(text: string | undefined, name: string): number | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  if (!Number.isFinite(number) || number <= 0) throw wrongWords(`${name} must be a number above 0`, words);
  return number;
}
