import { tenantScope } from '../../kernel/tenant-scope.js';
import { OperatorReports, tenantRowFrom } from '../operator/index.js';
import { plans } from '../../kernel/plans/index.js';
import { emailAddress, type TenantFilter, tenantStatuses } from '../../tenancy/identity/index.js';
import {
  choiceOf,
  type Command,
  CommandError,
  isId,
  readArguments,
  table,
  unknownAction,
  usageError,
} from './command.js';
import { textOptions, usageOf } from './help.js';
import { type Management, withManagement } from './management.js';
import { operatorHelp } from './operator-help.js';
import { everyPage } from './pages.js';

const usage = usageOf(operatorHelp.tenants);
const options = textOptions(operatorHelp.tenants);

export const tenantsCommand: Command = {
  run: async (rest, environment) => {
    const { values, positionals } = readArguments(rest, options, usage);
    // Check the arguments before opening anything.
    const act = actionOf(positionals, values);
    await withManagement(environment, act, {
      onlyReads: positionals[0] === 'list' || positionals[0] === 'show',
    });
  },
};

type Act = (management: Management) => Promise<void>;

function actionOf(
  [action, first, second]: readonly string[],
  { plan, owner, reason, confirm, search, status }: Readonly<Record<string, string | undefined>>,
): Act {
  switch (action) {
    case 'list':
      return list({
        search,
        plan: plan === undefined ? undefined : planOf(plan),
        status:
          status === undefined
            ? undefined
            : choiceOf(status, { what: 'status', choices: tenantStatuses, usage }),
      });
    case 'show':
      return show(idOf(action, first));
    case 'create':
      if (first === undefined) throw usageError('create needs a name for the tenant', usage);
      if (owner !== undefined && !emailAddress.safeParse(owner).success)
        throw usageError(`--owner ${owner} is not an email address`, usage);
      return create(first, planOf(plan ?? 'free'), owner);
    case 'plan': {
      if (second === undefined) throw usageError('plan needs the id of a tenant and a plan', usage);
      const id = idOf(action, first);
      const wanted = planOf(second);
      return async ({ identity: { tenants } }) => {
        const changed = await tenants.setPlan(id, { plan: wanted }, 'operator');
        say(`${changed.id} is on plan ${changed.plan}.`);
      };
    }
    case 'suspend': {
      const id = idOf(action, first);
      if (reason === undefined || reason.trim() === '') throw usageError('suspend needs a --reason', usage);
      return async ({ identity }) => {
        await identity.suspension.suspend(id, reason.trim(), 'operator');
        say(`${id} is suspended.`);
      };
    }
    case 'resume': {
      const id = idOf(action, first);
      return async ({ identity }) => {
        await identity.suspension.resume(id, 'operator');
        say(`${id} works again.`);
      };
    }
    case 'delete': {
      const id = idOf(action, first);
      if (confirm === undefined) throw usageError("delete needs --confirm with the tenant's name", usage);
      return async ({ store, changes }) => {
        // It loads every subject that keeps rows of tenants; the other actions need none of them.
        const { TenantDeletion } = await import('../deletion/index.js');
        const deletion = new TenantDeletion({ store, changes, nowMs: Date.now });
        await deletion.delete(tenantScope(id), confirm, 'operator');
        say(`${id} is being deleted. Running nodes remove its rows.`);
      };
    }
    default:
      throw usageError(unknownAction(action, operatorHelp.tenants.actions), usage);
  }
}

function idOf(action: string, word: string | undefined): string {
  if (word === undefined) throw usageError(`${action} needs the id of a tenant`, usage);
  if (!isId(word)) throw usageError(`${word} is not the id of a tenant`, usage);
  return word;
}

function list(filter: TenantFilter): Act {
  return async ({ store }) => {
    const reports = new OperatorReports(store, Date.now);
    const tenants = await everyPage((page) => reports.tenants(filter, page));
    const rows = tenants.map(tenantRowFrom).map((row) => [row.id, row.plan, row.status, row.name]);
    say(table([['id', 'plan', 'status', 'name'], ...rows]));
  };
}

function show(id: string): Act {
  return async ({ store }) => {
    const row = tenantRowFrom(await new OperatorReports(store, Date.now).tenant(id));
    say(JSON.stringify(row, null, 2));
  };
}

function create(name: string, plan: (typeof plans)[number], owner: string | undefined): Act {
  return async ({ identity: { accounts, tenants } }) => {
    const user = owner === undefined ? undefined : await accounts.findByEmail(owner);
    if (user === null || user?.disabled === true) {
      throw new CommandError(
        `${owner} has no account that can sign in. Make one with: troupe users create ${owner}`,
      );
    }
    const { tenant: made } = await tenants.createByOperator({ name, plan, ownerId: user?.id }, 'operator');
    say(made.id);
  };
}

function planOf(text: string) {
  return choiceOf(text, { what: 'plan', choices: plans, usage });
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
