import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api, take } from '../../api/client';
import { useKey } from '../../api/queries';
import { AgentName } from '../../ui/agent-name';
import { CopyAs } from '../../ui/copy-as';
import { Dialog } from '../../ui/dialog';
import { Empty, Loaded } from '../../ui/states';
import { ErrorFacts, ExecutionLink } from './error-facts';
import { useTriggerNames } from './use-trigger-names';

/** One error, found by its id: a link to it works after the list has moved on. */
export function ErrorDetails({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const triggers = useTriggerNames();
  const query = useQuery({
    queryKey: useKey('errors', 'one', id),
    queryFn: ({ signal }) => take(api.GET('/api/v1/errors', { params: { query: { id } }, signal })),
  });
  return (
    <Dialog open onClose={onClose} title={query.data?.data[0]?.error ?? 'Error'} wide>
      <Loaded query={query}>
        {({ data: [error] }) =>
          error === undefined ? (
            <Empty title="The error is not kept any more">
              <p>Errors are kept for seven days, and the oldest of a tenant with many are removed earlier.</p>
            </Empty>
          ) : (
            <div className="flex flex-col gap-4">
              <ErrorFacts
                error={error}
                execution={error.execution_id !== null && <ExecutionLink id={error.execution_id} />}
                agent={
                  error.agent_id !== null && (
                    <Link
                      to="/agents/$agentId"
                      params={{ agentId: error.agent_id }}
                      className="text-accent underline"
                    >
                      <AgentName id={error.agent_id} />
                    </Link>
                  )
                }
                trigger={
                  error.trigger_id !== null && (
                    <Link
                      to="/triggers/$triggerId"
                      params={{ triggerId: error.trigger_id }}
                      className="text-accent underline"
                    >
                      {triggers.get(error.trigger_id) ?? error.trigger_id}
                    </Link>
                  )
                }
              />
              <div>
                <CopyAs request={{ method: 'GET', path: `/api/v1/errors?id=${error.id}` }} />
              </div>
            </div>
          )
        }
      </Loaded>
    </Dialog>
  );
}
