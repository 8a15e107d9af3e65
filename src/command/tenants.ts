import { plans } from '../plans/index.js';
import { type Command, readWords, table, wrongWords } from './command.js';
import { withManagement } from './management.js';

const words = 'tenants list | create NAME [--plan PLAN] | plan ID PLAN';

export const tenantsCommand: Command = {
  name: 'tenants',
  words: 'tenants list|create|plan …',
  summary: 'list and make tenants, change their plan',
  run: async (rest, environment) => {
    const { values, positionals } = readWords(rest, { plan: 'free' }, words);
    const [action, first, second] = positionals;
    await withManagement(environment, async ({ identity: { tenants } }) => {
      switch (action) {
        case 'list': {
          const rows = (await tenants.listAll()).map(({ id, plan, name }) => [id, plan, name]);
          process.stdout.write(`${table([['id', 'plan', 'name'], ...rows])}\n`);
          return;
        }
        case 'create': {
          if (first === undefined) throw wrongWords('name the tenant', words);
          const made = await tenants.createEmpty(first, planOf(values['plan'] ?? ''), 'operator');
          process.stdout.write(`${made.id}\n`);
          return;
        }
        case 'plan': {
          if (first === undefined || second === undefined)
            throw wrongWords('name the tenant’s id and the plan', words);
          const changed = await tenants.setPlan(first, { plan: planOf(second) }, 'operator');
          process.stdout.write(`${changed.id} is on plan ${changed.plan}.\n`);
          return;
        }
        default:
          throw wrongWords(`there is no action ${action ?? ''}`, words);
      }
    });
  },
};

function planOf(text: string) {
  const plan = plans.find((one) => one === text);
  if (plan === undefined) throw wrongWords(`there is no plan ${text}; there are ${plans.join(', ')}`, words);
  return plan;
}
