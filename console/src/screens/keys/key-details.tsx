import { useQuery } from '@tanstack/react-query';
import { api, take, tenantHeader } from '../../api/client';
import { useKey } from '../../api/queries';
import { StatusBadge } from '../../ui/badge';
import { CopyAs } from '../../ui/copy-as';
import { Dialog } from '../../ui/dialog';
import { count, dollars } from '../../ui/numbers';
import { Facts } from '../../ui/page';
import { Loaded } from '../../ui/states';
import { Time } from '../../ui/time';
import { shownKey } from './shown-key';

/** What one key may do, and how much it was used. */
export function KeyDetails({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const query = useQuery({
    queryKey: useKey('keys', id),
    queryFn: ({ signal }) =>
      take(api.GET('/api/keys/{keyId}', { params: { path: { keyId: id }, header: tenantHeader() }, signal })),
  });
  return (
    <Dialog open onClose={onClose} title={query.data?.data.name ?? 'Key'}>
      <Loaded query={query}>
        {({ data }) => (
          <div className="flex flex-col gap-4">
            <Facts
              facts={[
                [
                  'Key',
                  <code key="key" className="font-mono text-xs">
                    {shownKey(data)}
                  </code>,
                ],
                ['Status', <StatusBadge key="status" status={data.status} />],
                ['Description', data.description ?? '—'],
                ['Role', data.role],
                ['Created by', data.created_by.name],
                ['Expires', <Time key="expires" at={data.expires_at} exactly />],
                ['Per minute', `${count(data.rate_limit_per_minute)} requests (${data.calculated_tier})`],
                [
                  'Budget',
                  data.budget === undefined
                    ? 'none of its own'
                    : `${dollars(data.budget.usd)} a ${data.budget.period}`,
                ],
                ['Models', data.allowed_models?.join(', ') ?? 'all of the plan'],
                ['Addresses', data.allowed_ips?.join(', ') ?? 'all'],
                ['Requests', count(data.total_requests)],
              ]}
            />
            <div>
              <CopyAs
                request={{
                  method: 'GET',
                  path: `/api/keys/${id}`,
                  mcp: { tool: 'get_api_key', arguments: { key_id: id } },
                }}
              />
            </div>
          </div>
        )}
      </Loaded>
    </Dialog>
  );
}
