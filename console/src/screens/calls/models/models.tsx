import { createLazyRoute, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { type Model, useModelQuery } from '../../../api/models';
import { useAllowed } from '../../../session/use-session';
import { Badge } from '../../../ui/badge';
import { buttonClass } from '../../../ui/button';
import { CopyAs } from '../../../ui/copy-as';
import { type Column, DataTable } from '../../../ui/data-table';
import { Filters, FilterSelect, FilterText } from '../../../ui/filters';
import { dollars, shortCount } from '../../../ui/numbers';
import { Page } from '../../../ui/page';
import { Empty, Forbidden, Loaded } from '../../../ui/states';
import { comparedMax } from '../routes';
import { Capabilities } from './capabilities';

export const Route = createLazyRoute('/frame/models')({ component: Models });

/** What can be called, what it costs, and whether it can be called now. */
function Models() {
  const query = useModelQuery();
  const mayCall = useAllowed('llm:call');
  const [chosen, setChosen] = useState<readonly string[]>([]);
  if (!useAllowed('models:read')) {
    return (
      <Page title="Models">
        <Forbidden what="models" />
      </Page>
    );
  }
  const choose = (id: string): void =>
    setChosen((all) => (all.includes(id) ? all.filter((one) => one !== id) : [...all, id]));
  return (
    <Page
      title="Models"
      description="Prices are in US dollars per million tokens."
      actions={
        <>
          <CopyAs
            request={{
              method: 'GET',
              path: '/api/v3/llm/models',
              mcp: { tool: 'list_models', arguments: {} },
            }}
          />
          {mayCall && (
            <Link to="/models/try" search={{ models: chosen }} className={buttonClass('primary')}>
              {chosen.length > 1 ? `Compare ${chosen.length} models` : 'Try a call'}
            </Link>
          )}
        </>
      }
    >
      <Loaded query={query}>
        {({ data }) => <Table models={data} {...(mayCall && { chosen, choose })} />}
      </Loaded>
    </Page>
  );
}

interface Choice {
  readonly chosen?: readonly string[];
  readonly choose?: (id: string) => void;
}

function Table({ models, ...choice }: { readonly models: readonly Model[] } & Choice) {
  const [vendor, setVendor] = useState<string>();
  const [words, setWords] = useState<string>();
  const [now, setNow] = useState<string>();
  // Those that can be called come first.
  const rows = models
    .toSorted((a, b) => Number(b.available) - Number(a.available))
    .filter(
      (model) =>
        (vendor === undefined || model.vendor === vendor) &&
        (words === undefined || model.id.toLowerCase().includes(words.toLowerCase())) &&
        (now === undefined || String(model.available) === now),
    );
  return (
    <>
      <Filters>
        <FilterText label="Model" value={words} onChange={setWords} />
        <FilterSelect
          label="Vendor"
          value={vendor}
          options={[...new Set(models.map((model) => model.vendor))]}
          onChange={setVendor}
        />
        <FilterSelect
          label="Now"
          value={now}
          options={[
            ['true', 'can be called'],
            ['false', 'cannot be called'],
          ]}
          onChange={setNow}
        />
      </Filters>
      {rows.length === 0 ? (
        <Empty title="No model matches">
          <p>Remove a filter to see more.</p>
        </Empty>
      ) : (
        <DataTable caption="Models" rows={rows} keyOf={({ id }) => id} columns={columnsOf(choice)} />
      )}
    </>
  );
}

function columnsOf({ chosen, choose }: Choice): readonly Column<Model>[] {
  const columns: readonly Column<Model>[] = [
    {
      title: 'Model',
      cell: ({ id }) => (
        <span className="whitespace-nowrap max-md:whitespace-normal wrap-anywhere">{id}</span>
      ),
    },
    { title: 'Tier', wideOnly: true, cell: ({ tier }) => tier },
    {
      title: 'Now',
      cell: ({ available }) => (
        <Badge tone={available ? 'good' : 'neutral'}>{available ? 'available' : 'no key'}</Badge>
      ),
    },
    { title: 'Input', numeric: true, cell: ({ price }) => dollars(price.input_per_mtok) },
    {
      title: 'From the cache',
      numeric: true,
      wideOnly: true,
      cell: ({ price }) => dollars(price.cached_input_per_mtok),
    },
    { title: 'Output', numeric: true, cell: ({ price }) => dollars(price.output_per_mtok) },
    { title: 'Context', numeric: true, wideOnly: true, cell: (model) => shortCount(model.context_window) },
    {
      title: 'Takes',
      wideOnly: true,
      cell: ({ capabilities }) => <Capabilities of={capabilities} />,
    },
  ];
  if (chosen === undefined || choose === undefined) return columns;
  const cell = ({ id, kind, available }: Model) =>
    kind === 'chat' &&
    available && (
      <input
        type="checkbox"
        className="size-4 accent-accent"
        aria-label={`Compare ${id}`}
        checked={chosen.includes(id)}
        disabled={!chosen.includes(id) && chosen.length >= comparedMax}
        onChange={() => choose(id)}
      />
    );
  return [...columns, { title: 'Compare', numeric: true, cell }];
}
