import { createLazyRoute } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { take } from '../../../api/client';
import { usePagesOf } from '../../../api/queries';
import { withQuery } from '../../../api/with-query';
import { Badge, StatusBadge } from '../../../ui/badge';
import { Button } from '../../../ui/button';
import { CopyAs } from '../../../ui/copy-as';
import { type Column, PagedTable } from '../../../ui/data-table';
import { Filters, FilterSelect, FilterText } from '../../../ui/filters';
import { dollars, shortCount } from '../../../ui/numbers';
import { Page } from '../../../ui/page';
import { Empty } from '../../../ui/states';
import { Time } from '../../../ui/time';
import { operatorApi, operatorKey } from '../operator-session';
import { planNames, type TenantsSearch, tenantStates } from '../routes';
import { CreateTenant } from './create-tenant';
import type { OperatorTenant } from './tenant-data';
import { TenantDetails } from './tenant-details';

export const Route = createLazyRoute('/operator/tenants')({ component: Tenants });

/** All tenants of the installation. */
function Tenants() {
  const { tenant, create, ...filter } = Route.useSearch();
  const navigate = Route.useNavigate();
  const pages = usePagesOf(operatorKey('tenants', 'list', filter), async (cursor, signal) => {
    const query = { ...filter, limit: 50, cursor };
    const answer = await take(operatorApi.GET('/api/v1/operator/tenants', { params: { query }, signal }));
    return { rows: answer.data, next: answer.next_cursor ?? undefined };
  });
  const open = (next: TenantsSearch): void =>
    void navigate({ search: { ...filter, ...next }, replace: true });
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  return (
    <Page
      title="Tenants"
      description="The customers of this installation, with what they used this month (UTC)."
      actions={
        <>
          <CopyAs
            request={{
              method: 'GET',
              path: withQuery('/api/v1/operator/tenants', filter),
              operator: true,
            }}
          />
          <Button kind="primary" icon={<Plus size={14} aria-hidden />} onClick={() => open({ create: true })}>
            Create a tenant
          </Button>
        </>
      }
    >
      <Filters>
        <FilterText label="Name or id" value={filter.search} onChange={(search) => open({ search })} />
        <FilterSelect
          label="Plan"
          value={filter.plan}
          options={planNames}
          onChange={(plan) => open({ plan: planNames.find((one) => one === plan) })}
        />
        <FilterSelect
          label="Status"
          value={filter.status}
          options={tenantStates}
          onChange={(status) => open({ status: tenantStates.find((one) => one === status) })}
        />
      </Filters>
      <PagedTable
        pages={pages}
        caption="Tenants"
        columns={columnsOf((id) => open({ tenant: id }))}
        keyOf={({ id }) => id}
        empty={
          <Empty title={isFiltered ? 'No tenant matches' : 'No tenants yet'}>
            <p>
              {isFiltered ? 'Choose another filter.' : 'People who register make one, or create one here.'}
            </p>
          </Empty>
        }
      />
      {create === true && <CreateTenant onClose={() => open({})} />}
      {tenant !== undefined && <TenantDetails key={tenant} id={tenant} onClose={() => open({})} />}
    </Page>
  );
}

function columnsOf(onOpen: (id: string) => void): readonly Column<OperatorTenant>[] {
  return [
    {
      title: 'Name',
      cell: ({ id, name }) => (
        <button
          type="button"
          className="text-left text-accent wrap-anywhere hover:underline"
          onClick={() => onOpen(id)}
        >
          {name}
        </button>
      ),
    },
    { title: 'Plan', cell: ({ plan }) => <Badge>{plan}</Badge> },
    { title: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
    { title: 'Members', numeric: true, wideOnly: true, cell: ({ members }) => shortCount(members) },
    { title: 'Calls', numeric: true, wideOnly: true, cell: ({ month }) => shortCount(month.calls) },
    { title: 'Tokens', numeric: true, wideOnly: true, cell: ({ month }) => shortCount(month.tokens) },
    { title: 'Cost', numeric: true, wideOnly: true, cell: ({ month }) => dollars(month.cost) },
    { title: 'Last seen', wideOnly: true, cell: ({ last_seen: at }) => <Time at={at} /> },
  ];
}
