import { StatusBadge } from '../../../ui/badge';
import { CopyButton } from '../../../ui/copy-button';
import { Dialog } from '../../../ui/dialog';
import { count, dollars } from '../../../ui/numbers';
import { Facts } from '../../../ui/page';
import { Loaded } from '../../../ui/states';
import { Time } from '../../../ui/time';
import { PlanForm } from './plan-form';
import { type OperatorTenant, useOperatorTenant } from './tenant-data';
import { TenantActions } from './tenant-actions';

/** One tenant: what it is and uses, its plan, and what the operator can do with it. */
export function TenantDetails({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const query = useOperatorTenant(id);
  return (
    <Dialog open onClose={onClose} title={query.data?.data.name ?? 'Tenant'} wide>
      <Loaded query={query}>
        {({ data }) => (
          <div className="flex flex-col gap-5">
            <TenantFacts tenant={data} />
            {data.status === 'deleting' ? (
              <p className="rounded-md bg-warn-soft px-3 py-2 text-sm text-warn">
                It is being deleted: its rows are gone within minutes.
              </p>
            ) : (
              <>
                <PlanForm key={data.id} tenant={data} />
                <TenantActions tenant={data} onDeleted={onClose} />
              </>
            )}
          </div>
        )}
      </Loaded>
    </Dialog>
  );
}

function TenantFacts({ tenant }: { readonly tenant: OperatorTenant }) {
  const { month, suspended_at: suspendedAt } = tenant;
  return (
    <Facts
      facts={[
        [
          'Id',
          <span key="id" className="flex items-center gap-1 font-mono text-xs">
            {tenant.id}
            <CopyButton text={tenant.id} label="Copy the id of the tenant" />
          </span>,
        ],
        ['Status', <StatusBadge key="status" status={tenant.status} />],
        ...(suspendedAt === null
          ? []
          : ([
              ['Suspended', <Time key="suspended" at={suspendedAt} exactly />],
              ['Reason', tenant.suspend_reason ?? '—'],
            ] as const)),
        ['Members', count(tenant.members)],
        [
          'This month',
          `${count(month.calls)} ${month.calls === 1 ? 'call' : 'calls'}, ${count(month.tokens)} tokens, ${dollars(month.cost)}`,
        ],
        ['Last seen', <Time key="seen" at={tenant.last_seen} exactly />],
        ['Created', <Time key="created" at={tenant.created_at} exactly />],
      ]}
    />
  );
}
