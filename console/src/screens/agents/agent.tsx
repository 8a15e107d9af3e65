import { useQuery } from '@tanstack/react-query';
import { createLazyRoute } from '@tanstack/react-router';
import { api, take } from '../../api/client';
import { useKey } from '../../api/queries';
import { Loaded } from '../../ui/states';
import { AgentPage } from './agent-page';

export const Route = createLazyRoute('/frame/agents/$agentId')({ component: AgentScreen });

function AgentScreen() {
  const { agentId } = Route.useParams();
  const query = useQuery({
    queryKey: useKey('agents', agentId),
    queryFn: ({ signal }) => take(api.GET('/api/agents/{id}', { params: { path: { id: agentId } }, signal })),
  });
  // Another agent is another page: nothing that was written for one is left in the other.
  return <Loaded query={query}>{({ data }) => <AgentPage key={agentId} agent={data} />}</Loaded>;
}
