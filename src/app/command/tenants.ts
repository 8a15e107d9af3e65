import { plans } from '../../kernel/plans/index.js';
import { type Command, isId, readWords, table, wrongWords } from './command.js';
import { type Management, withManagement } from './management.js';

const words = 'tenants list | create NAME [--plan PLAN] | plan ID PLAN';

export const tenantsCommand: Command = {
  run: async (rest, environment) => {
    const { values, positionals } = readWords(rest, { plan: 'free' }, words);
    // The words are judged before anything is opened.
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
      if (first === undefined) throw wrongWords('name the tenant', words);
      const plan = planOf(planOfNew);
      return async (tenants) => {
        const made = await tenants.createEmpty(first, plan, 'operator');
        process.stdout.write(`${made.id}\n`);
      };
    }
    case 'plan': {
      if (first === undefined || second === undefined)
        throw wrongWords('name the tenant’s id and the plan', words);
      if (!isId(first)) throw wrongWords(`${first} is not the id of a tenant`, words);
      const plan = planOf(second);
      return async (tenants) => {
        const changed = await tenants.setPlan(first, { plan }, 'operator');
        process.stdout.write(`${changed.id} is on plan ${changed.plan}.\n`);
      };
    }
    default:
      throw wrongWords(`there is no action ${action ?? ''}`, words);
  }
}

async function list(tenants: Tenants): Promise<void> {
  const rows = (await tenants.listAll()).map(({ id, plan, name }) => [id, plan, name]);
  process.stdout.write(`${table([['id', 'plan', 'name'], ...rows])}\n`);
}

function planOf(text: string) {
  const plan = plans.find((one) => one === text);
  if (plan === undefined) throw wrongWords(`there is no plan ${text}; there are ${plans.join(', ')}`, words);
  return plan;
}
