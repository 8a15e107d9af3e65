import { plans } from '../../kernel/plans/index.js';
import { choiceOf, type Command, isId, readArguments, table, usageError, unknownAction } from './command.js';
import { type Management, withManagement } from './management.js';

const usage = 'tenants list | create NAME [--plan PLAN] | plan ID PLAN';

export const tenantsCommand: Command = {
  run: async (rest, environment) => {
    const { values, positionals } = readArguments(rest, { plan: 'free' }, usage);
    // Check the arguments before opening anything.
    const act = actionOf(positionals, values['plan'] ?? '');
    await withManagement(environment, ({ identity: { tenants } }) => act(tenants));
  },
};

type Tenants = Management['identity']['tenants'];

function actionOf(
  [action, first, second]: readonly string[],
  planOfNew: string,
): (tenants: Tenants) => Promise<void> {
  switch (action) {
    case 'list':
      return list;
    case 'create': {
      if (first === undefined) throw usageError('create needs a name for the tenant', usage);
      const plan = planOf(planOfNew);
      return async (tenants) => {
        const made = await tenants.createEmpty(first, plan, 'operator');
        process.stdout.write(`${made.id}\n`);
      };
    }
    case 'plan': {
      if (first === undefined || second === undefined)
        throw usageError('plan needs the id of a tenant and a plan', usage);
      if (!isId(first)) throw usageError(`${first} is not the id of a tenant`, usage);
      const plan = planOf(second);
      return async (tenants) => {
        const changed = await tenants.setPlan(first, { plan }, 'operator');
        process.stdout.write(`${changed.id} is on plan ${changed.plan}.\n`);
      };
    }
    default:
      throw usageError(unknownAction(action, ['list', 'create', 'plan']), usage);
  }
}

async function list(tenants: Tenants): Promise<void> {
  const rows = (await tenants.listAll()).map(({ id, plan, name }) => [id, plan, name]);
  process.stdout.write(`${table([['id', 'plan', 'name'], ...rows])}\n`);
}

function planOf(text: string) {
  return choiceOf(text, { what: 'plan', choices: plans, usage });
}
