import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { agentBudgets, keyBudgets, shareOf, type SpentBudget, tenantBudget } from '../../api/budgets';
import { useKey } from '../../api/queries';
import { useAllowed } from '../../session/use-session';
import { dollars, percent } from '../../ui/numbers';
import { Card } from '../../ui/page';
import { Loaded } from '../../ui/states';

/** What is left of the budgets: the tenant's first, then the most spent ones of keys and agents. */
export function BudgetCard() {
  const maySeeKeys = useAllowed('keys:read');
  const mayChange = useAllowed('tenants:update');
  const query = useQuery({
    queryKey: useKey('budgets', maySeeKeys),
    queryFn: async ({ signal }) => {
      const [own, keys, agents] = await Promise.all([
        tenantBudget(signal),
        maySeeKeys ? keyBudgets(signal) : [],
        agentBudgets(signal),
      ]);
      return [...own, ...[...keys, ...agents].toSorted((a, b) => shareOf(b) - shareOf(a))];
    },
  });
  return (
    <Card
      title="Budgets"
      actions={
        mayChange && (
          <Link to="/settings" className="text-sm text-accent hover:underline">
            Change
          </Link>
        )
      }
    >
      <Loaded query={query}>
        {(budgets) =>
          budgets.length === 0 ? (
            <p className="text-sm text-muted">
              Nothing has a budget. With one, of the tenant, of a key or of an agent, calls are refused once
              it is spent.
            </p>
          ) : (
            <ul className="grid gap-x-8 gap-y-4 sm:grid-cols-2 xl:grid-cols-3">
              {budgets.map((one) => (
                <Spent key={one.id} budget={one} />
              ))}
            </ul>
          )
        }
      </Loaded>
    </Card>
  );
}

function Spent({ budget }: { readonly budget: SpentBudget }) {
  const {
    of,
    spent,
    budget: { usd, period },
  } = budget;
  const share = shareOf(budget) * 100;
  const colour = share >= 100 ? 'bg-bad' : share >= 80 ? 'bg-warn' : 'bg-accent';
  const name = of.replace(/^the /, '').replace(/^./, (first) => first.toUpperCase());
  return (
    <li className="flex min-w-0 flex-col gap-1.5 text-sm">
      <span className="flex items-baseline justify-between gap-2">
        <span className="truncate font-medium" title={name}>
          {name}
        </span>
        <span className="text-xs text-muted tabular-nums">{percent(share)}</span>
      </span>
      <div
        role="meter"
        aria-label={`Spent of the budget of ${of}`}
        aria-valuenow={Math.min(share, 100)}
        aria-valuemin={0}
        aria-valuemax={100}
        className="h-1.5 overflow-hidden rounded-full bg-hover"
      >
        <div className={`h-full rounded-full ${colour}`} style={{ width: `${Math.min(share, 100)}%` }} />
      </div>
      <span className="text-xs text-muted tabular-nums">
        {dollars(spent)} of {dollars(usd)} this {period}
      </span>
    </li>
  );
}
