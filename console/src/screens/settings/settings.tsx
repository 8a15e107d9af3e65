import { useQuery } from '@tanstack/react-query';
import { createLazyRoute } from '@tanstack/react-router';
import { api, take } from '../../api/client';
import { useKey } from '../../api/queries';
import { useAllowed, useTenant } from '../../session/use-session';
import { CopyAs } from '../../ui/copy-as';
import { Page } from '../../ui/page';
import { Forbidden, Loaded } from '../../ui/states';
import { AliasesForm } from './aliases-form';
import { DeleteTenant } from './delete-tenant';
import { ExportCard } from './export-card';
import { GeneralForm } from './general-form';
import { RetentionForm } from './retention-form';

export const Route = createLazyRoute('/frame/settings')({ component: TenantSettings });

/** What the tenant's admins decide: name, budget, names of models, how long data is kept, exports, and the end of it. */
function TenantSettings() {
  const { id } = useTenant();
  const query = useQuery({
    queryKey: useKey('tenant'),
    queryFn: ({ signal }) => take(api.GET('/api/tenants/{id}', { params: { path: { id } }, signal })),
  });
  if (!useAllowed('tenants:update')) {
    return (
      <Page title="Settings">
        <Forbidden what="the settings of the tenant" />
      </Page>
    );
  }
  return (
    <Page
      title="Settings"
      description="They hold for the whole tenant."
      actions={<CopyAs request={{ method: 'GET', path: `/api/tenants/${id}` }} />}
    >
      <Loaded query={query}>
        {({ data }) => (
          <div className="grid items-start gap-4 lg:grid-cols-2">
            <div className="flex min-w-0 flex-col gap-4">
              <GeneralForm tenant={data} />
              <AliasesForm tenant={data} />
              <DeleteTenant />
            </div>
            <div className="flex min-w-0 flex-col gap-4">
              <RetentionForm tenant={data} />
              <ExportCard />
            </div>
          </div>
        )}
      </Loaded>
    </Page>
  );
}
