import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { X } from 'lucide-react';
import { api, take } from '../../../api/client';
import { useKey } from '../../../api/queries';
import { IconButton } from '../../../ui/button';
import { DiffView } from '../../../ui/code-editor';
import { inputClass } from '../../../ui/field';
import { Card } from '../../../ui/page';
import { Loaded } from '../../../ui/states';
import { draftOf } from '../editor/draft';
import type { Agent, Tool, Version } from '../types';
import { snapshotText } from './snapshot-text';

const route = getRouteApi('/frame/agents/$agentId');

/** A version beside another one, or beside the working copy. */
export function Comparison({
  agent,
  from,
  to,
  versions,
}: {
  readonly agent: Agent;
  readonly from: number;
  readonly to: number | undefined;
  readonly versions: readonly Version[];
}) {
  const navigate = route.useNavigate();
  const show = (next: number | undefined): void =>
    void navigate({ search: { tab: 'versions', version: from, against: next }, replace: true });
  return (
    <Card
      title={`Version ${from} and ${to === undefined ? 'the working copy' : `version ${to}`}`}
      actions={
        <span className="flex items-center gap-2">
          <select
            aria-label="Compare with"
            className={`${inputClass} !w-auto`}
            value={to ?? ''}
            onChange={({ target }) => show(target.value === '' ? undefined : Number(target.value))}
          >
            <option value="">the working copy</option>
            {versions.map(({ version }) => (
              <option key={version} value={version}>
                version {version}
              </option>
            ))}
          </select>
          <IconButton
            label="Close the comparison"
            icon={<X size={14} aria-hidden />}
            onClick={() => void navigate({ search: { tab: 'versions' }, replace: true })}
          />
        </span>
      }
    >
      <Texts agent={agent} from={from} to={to} />
    </Card>
  );
}

function Texts({ agent, from, to }: Omit<Parameters<typeof Comparison>[0], 'versions'>) {
  const before = useSnapshot(agent, from);
  const after = useSnapshot(agent, to);
  return (
    <Loaded query={before}>
      {(old) => (
        <Loaded query={after}>
          {(next) =>
            old === next ? (
              <p className="text-sm text-muted">They have the same content.</p>
            ) : (
              <DiffView label="What differs" before={old} after={next} />
            )
          }
        </Loaded>
      )}
    </Loaded>
  );
}

/** The text of a version; of the working copy without one. */
function useSnapshot(agent: Agent, version: number | undefined) {
  const id = agent.id;
  return useQuery({
    queryKey: useKey('agents', id, 'snapshot', version ?? agent.updated_at),
    queryFn: async ({ signal }) => {
      if (version === undefined) {
        const { data } = await take(
          api.GET('/api/agents/{id}/schemas', { params: { path: { id } }, signal }),
        );
        return snapshotText({
          ...draftOf(agent),
          visibility: agent.visibility,
          schemas: data.map(contentOf),
        });
      }
      const path = { id, version: String(version) };
      const { data } = await take(
        api.GET('/api/agents/{id}/versions/{version}', { params: { path }, signal }),
      );
      return snapshotText(data.snapshot);
    },
  });
}

/** What a version stores of a tool. */
function contentOf({ id, name, type, description, parameters, editor_schema, tools }: Tool) {
  return { id, name, type, description, parameters, editor_schema, tools };
}
