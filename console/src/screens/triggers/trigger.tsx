import { useQuery } from '@tanstack/react-query';
import { createLazyRoute } from '@tanstack/react-router';
import { api, take } from '../../api/client';
import { useKey } from '../../api/queries';
import { Loaded } from '../../ui/states';
import { TriggerPage } from './detail/trigger-page';

export const Route = createLazyRoute('/frame/triggers/$triggerId')({ component: TriggerScreen });

function TriggerScreen() {
  const { triggerId } = Route.useParams();
  const query = useQuery({
    queryKey: useKey('triggers', triggerId),
    queryFn: ({ signal }) =>
      take(api.GET('/api/triggers/{id}', { params: { path: { id: triggerId } }, signal })),
  });
  // Another trigger is another page: nothing that was written for one is left in the other.
  return <Loaded query={query}>{({ data }) => <TriggerPage key={triggerId} trigger={data} />}</Loaded>;
}
