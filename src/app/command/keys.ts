import { z } from 'zod';
import type { Budget } from '../../kernel/budget.js';
import { roles } from '../../kernel/caller.js';
import { type TenantScope, tenantScope } from '../../kernel/tenant-scope.js';
import { type KeyAdministration, keyPrefixes, operatorKey } from '../../tenancy/keys/index.js';
import {
  choiceOf,
  type Command,
  CommandError,
  isId,
  readArguments,
  table,
  type Arguments,
  usageError,
  unknownAction,
} from './command.js';
import type { Identity } from '../../tenancy/identity/index.js';
import { textOptions, usageOf } from './help.js';
import { withManagement } from './management.js';
import { operatorHelp } from './operator-help.js';

const usage = usageOf(operatorHelp.keys);
/** For one reading. */
const pageLimit = 1_000;

const options = textOptions(operatorHelp.keys, {
  role: 'admin',
  prefix: 'svc_live_',
  // Earlier names of --rate-limit and --expires-in-days.
  rpm: undefined,
  'expires-days': undefined,
});

export const keysCommand: Command = {
  run: async (rest, environment) => {
    const { values, positionals } = readArguments(rest, options, usage);
    const [action, keyId] = positionals;
    const tenantId = values['tenant'];
    if (tenantId !== undefined && !isId(tenantId))
      throw usageError('--tenant must be the id of a tenant', usage);
    // Check the arguments before opening anything.
    const act = actionOf(action, keyId, values);
    await withManagement(
      environment,
      async ({ keys, identity }) => act(keys, tenantScope(tenantId ?? (await onlyTenant(identity)))),
      { onlyReads: action === 'list' },
    );
  },
};

async function onlyTenant({ tenants }: Identity): Promise<string> {
  const [first, ...others] = await tenants.listAll();
  if (first === undefined) throw new CommandError('There is no tenant yet. Run: troupe tenants create NAME');
  if (others.length === 0) return first.id;
  throw usageError(
    `--tenant is missing, and there are ${others.length + 1} tenants; troupe tenants list shows their ids`,
    usage,
  );
}

type Act = (keys: KeyAdministration, scope: TenantScope) => Promise<void>;

function actionOf(action: string | undefined, keyId: string | undefined, values: Arguments['values']): Act {
  switch (action) {
    case 'create':
      return create(values);
    case 'list':
      return list;
    case 'revoke':
      if (keyId === undefined || !isId(keyId)) throw usageError('revoke needs the id of a key', usage);
      return async (keys, scope) => {
        await keys.revoke(scope, 'operator', keyId);
        process.stdout.write(`Revoked ${keyId}.\n`);
      };
    default:
      throw usageError(unknownAction(action, operatorHelp.keys.actions), usage);
  }
}

function create(values: Arguments['values']): Act {
  const request = operatorKey.safeParse({
    name: values['name'] ?? `${values['role']} key`,
    role: choiceOf(values['role'] ?? '', { what: 'role', choices: roles, usage }),
    prefix: choiceOf(values['prefix'] ?? '', { what: 'prefix', choices: keyPrefixes, usage }),
    rateLimitPerMinute: numberIn(values, 'rate-limit', 'rpm'),
    quotaLimit: numberIn(values, 'quota'),
    expiresInDays: numberIn(values, 'expires-in-days', 'expires-days'),
    budget: budgetOf(values),
    allowed_models: listOf(values['allowed-models']),
    allowed_ips: listOf(values['allowed-ips']),
  });
  if (!request.success) throw usageError(z.prettifyError(request.error), usage);
  return async (keys, scope) => {
    const made = await keys.create(scope, 'operator', request.data);
    process.stderr.write(`Created the ${made.role} key ${made.id}. Save it now: it is not shown again.\n`);
    process.stdout.write(`${made.apiKey}\n`);
  };
}

async function list(keys: KeyAdministration, scope: TenantScope): Promise<void> {
  const rows: string[][] = [];
  for (let cursor: string | undefined; ;) {
    const { items, nextCursor } = await keys.list(scope, { cursor, limit: pageLimit });
    for (const key of items) rows.push([key.id, key.prefix + key.suffix, key.role, key.status, key.name]);
    if (typeof nextCursor !== 'string') break;
    cursor = nextCursor;
  }
  process.stdout.write(`${table([['id', 'key', 'role', 'status', 'name'], ...rows])}\n`);
}

/** The number of the option, which may be given by one of several names. */
function numberIn(values: Arguments['values'], ...names: readonly string[]): number | undefined {
  const given = names.filter((name) => values[name] !== undefined);
  const [name, other] = given;
  if (name === undefined) return undefined;
  if (other !== undefined) throw usageError(`--${name} and --${other} mean the same: give one`, usage);
  const number = Number(values[name]);
  if (!Number.isFinite(number) || number <= 0) throw usageError(`--${name} must be a number above 0`, usage);
  return number;
}

function budgetOf(values: Arguments['values']): Budget | undefined {
  const usd = numberIn(values, 'budget-usd');
  const period = values['budget-period'];
  if (usd === undefined && period === undefined) return undefined;
  if (usd === undefined || period === undefined)
    throw usageError('--budget-usd and --budget-period belong together', usage);
  return { usd, period: choiceOf(period, { what: 'period', choices: ['day', 'month'], usage }) };
}

/** Words between commas. */
function listOf(text: string | undefined): readonly string[] | undefined {
  return text?.split(',').map((word) => word.trim());
}
