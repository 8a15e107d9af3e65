import { createLazyRoute, useNavigate } from '@tanstack/react-router';
import { useMemo } from 'react';
import { useAgentNames } from '../../api/agent-names';
import { useAllowed } from '../../session/use-session';
import { CopyAs } from '../../ui/copy-as';
import { Choice } from '../../ui/choice';
import { dollars, shortCount } from '../../ui/numbers';
import { Card, Page } from '../../ui/page';
import { Forbidden, Loaded } from '../../ui/states';
import { TimeSeries } from '../../ui/time-series';
import { BudgetCard } from './budget-card';
import { CsvButton } from './csv-button';
import { lastDays, type Range, type Usage, useUsage } from './figures';
import { GroupTable } from './group-table';
import { dayCharts } from './parts-by-day';
import { type Grouping, groupings, spans } from './routes';

export const Route = createLazyRoute('/frame/usage')({ component: UsageAndCost });

/** What was called, and what it cost. */
function UsageAndCost() {
  const { days = 30, by = 'agent' } = Route.useSearch();
  const navigate = useNavigate({ from: '/usage' });
  const range = useMemo(() => lastDays(days), [days]);
  const byDay = useUsage(range, 'day');
  const groups = useNamedGroups(range, by);
  if (!useAllowed('billing:read')) {
    return (
      <Page title="Usage and cost">
        <Forbidden what="usage and cost" />
      </Page>
    );
  }
  const query = new URLSearchParams({ ...range, group_by: by });
  return (
    <Page
      title="Usage and cost"
      description="Days are those of UTC."
      actions={
        <>
          <Choice
            label="Period"
            value={String(days)}
            options={spans.map((one) => [String(one), `Last ${one} days`] as const)}
            onChange={(value) =>
              void navigate({
                search: { days: spans.find((one) => String(one) === value), by },
                replace: true,
              })
            }
          />
          <CsvButton range={range} />
          <CopyAs
            request={{
              method: 'GET',
              path: `/api/billing/usage?${query}`,
              mcp: { tool: 'get_billing_usage', arguments: { ...range, group_by: by } },
            }}
          />
        </>
      }
    >
      <Loaded query={byDay}>
        {(usage) => (
          <>
            <Totals usage={usage} />
            <Days usage={usage} groups={by === 'day' ? undefined : groups.data} range={range} by={by} />
          </>
        )}
      </Loaded>
      <BudgetCard />
      <Card
        title={`By ${by}`}
        actions={
          <Choice
            label="Group by"
            value={by}
            options={groupings.map((one) => [one, `By ${one}`] as const)}
            onChange={(value) =>
              void navigate({
                search: { days, by: groupings.find((one) => one === value) },
                replace: true,
              })
            }
          />
        }
      >
        <GroupTable query={groups} by={by} />
      </Card>
    </Page>
  );
}

/** The groups of the period; agents under the names that people know. */
function useNamedGroups(range: Range, by: Grouping) {
  const names = useAgentNames();
  const query = useUsage(range, by, by !== 'day');
  const data = useMemo(
    () =>
      by === 'agent' && query.data !== undefined
        ? {
            ...query.data,
            groups: query.data.groups.map((one) => ({ ...one, label: names.get(one.key) ?? one.label })),
          }
        : query.data,
    [by, query.data, names],
  );
  return { ...query, data } as typeof query;
}

function Totals({ usage: { total } }: { readonly usage: Usage }) {
  const figures = [
    ['Cost', dollars(total.cost)],
    ['Calls', shortCount(total.calls)],
    ['Input tokens', shortCount(total.input_tokens)],
    ['Output tokens', shortCount(total.output_tokens)],
  ] as const;
  return (
    <dl className="grid grid-cols-2 gap-px overflow-hidden rounded-lg border border-line bg-line md:grid-cols-4">
      {figures.map(([title, text]) => (
        <div key={title} className="bg-surface p-4">
          <dt className="text-xs text-muted">{title}</dt>
          <dd className="text-xl font-semibold tabular-nums">{text}</dd>
        </div>
      ))}
    </dl>
  );
}

function Days({
  usage,
  groups,
  range,
  by,
}: {
  readonly usage: Usage;
  readonly groups: Usage | undefined;
  readonly range: Range;
  readonly by: Grouping;
}) {
  const { times, cost, tokens } = useMemo(() => dayCharts(usage, groups, range), [usage, groups, range]);
  const words = by === 'day' ? 'by day' : `by day and ${by}`;
  return (
    <div className="grid gap-4 lg:grid-cols-2">
      <Card title={`Cost ${words}`}>
        <TimeSeries label={`Cost ${words}`} times={times} series={cost} format={dollars} bars />
      </Card>
      <Card title={`Tokens ${words}`}>
        <TimeSeries label={`Tokens ${words}`} times={times} series={tokens} format={shortCount} bars />
      </Card>
    </div>
  );
}
