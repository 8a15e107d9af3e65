import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { api, take } from '../../api/client';
import { useKey } from '../../api/queries';
import { dollars, percent } from '../../ui/numbers';
import { Card } from '../../ui/page';
import { Loaded } from '../../ui/states';
import { periodOf, useUsage } from './figures';

interface Budget {
  readonly usd: number;
  readonly period: 'day' | 'month';
}

/** What is left of the tenant's budget. */
export function BudgetCard() {
  const plan = useQuery({
    queryKey: useKey('billing', 'plan'),
    queryFn: ({ signal }) => take(api.GET('/api/billing/plan', { signal })),
  });
  return (
    <Card title="Budget">
      <Loaded query={plan}>
        {({ data: { budget } }) =>
          budget === null ? (
            <p className="text-sm text-muted">
              This tenant has no budget. With one, calls are refused once it is spent.
            </p>
          ) : (
            <Spent budget={budget} />
          )
        }
      </Loaded>
    </Card>
  );
}

function Spent({ budget: { usd, period } }: { readonly budget: Budget }) {
  const range = useMemo(() => periodOf(period), [period]);
  const usage = useUsage(range, 'payer');
  return (
    <Loaded query={usage}>
      {({ total: { cost } }) => {
        const share = usd === 0 ? 100 : (cost / usd) * 100;
        const colour = share >= 100 ? 'bg-bad' : share >= 80 ? 'bg-warn' : 'bg-accent';
        return (
          <div className="flex flex-col gap-2 text-sm">
            <p>
              {dollars(cost)} of {dollars(usd)} this {period} ({percent(share)})
            </p>
            <div
              role="meter"
              aria-label="Spent of the budget"
              aria-valuenow={Math.min(share, 100)}
              aria-valuemin={0}
              aria-valuemax={100}
              className="h-2 overflow-hidden rounded-full bg-sunken"
            >
              <div className={`h-full ${colour}`} style={{ width: `${Math.min(share, 100)}%` }} />
            </div>
          </div>
        );
      }}
    </Loaded>
  );
}
