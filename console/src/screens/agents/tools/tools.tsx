import { useQuery } from '@tanstack/react-query';
import { FileDown, Plus } from 'lucide-react';
import { useState } from 'react';
import { api, take } from '../../../api/client';
import { queries, useKey } from '../../../api/queries';
import { useAllowed } from '../../../session/use-session';
import { Button } from '../../../ui/button';
import { Confirm } from '../../../ui/confirm';
import { Empty, Forbidden, Loaded } from '../../../ui/states';
import type { Agent, Tool } from '../types';
import { ImportTools } from './import-tools';
import { ToolCard } from './tool-card';
import { ToolEditor } from './tool-editor';
import { TryTool } from './try-tool';

type Open =
  | { readonly is: 'edit'; readonly tool: Tool | undefined }
  | { readonly is: 'try' | 'delete'; readonly tool: Tool }
  | { readonly is: 'import' };

export function useTools(agentId: string) {
  return useQuery({
    queryKey: useKey('agents', agentId, 'tools'),
    queryFn: ({ signal }) =>
      take(api.GET('/api/agents/{id}/schemas', { params: { path: { id: agentId } }, signal })),
  });
}

/** What the agent can call: HTTP interfaces, MCP servers, other agents. Each is saved for itself. */
export function Tools({ agent }: { readonly agent: Agent }) {
  if (!useAllowed('schemas:read')) return <Forbidden what="tools" />;
  return <List agent={agent} />;
}

function List({ agent }: { readonly agent: Agent }) {
  const [open, setOpen] = useState<Open>();
  const query = useTools(agent.id);
  const agentKey = useKey('agents', agent.id);
  const mayWrite = useAllowed('schemas:create') && agent.status !== 'archived';
  const mayDelete = useAllowed('schemas:delete') && agent.status !== 'archived';
  const close = () => setOpen(undefined);
  const buttons = mayWrite && (
    <span className="flex flex-wrap gap-2">
      <Button icon={<FileDown size={14} aria-hidden />} onClick={() => setOpen({ is: 'import' })}>
        Import from OpenAPI
      </Button>
      <Button
        kind="primary"
        icon={<Plus size={14} aria-hidden />}
        onClick={() => setOpen({ is: 'edit', tool: undefined })}
      >
        Add a tool
      </Button>
    </span>
  );
  const edited = open?.is === 'edit' ? open.tool : undefined;
  return (
    <div className="flex flex-col gap-3">
      <Loaded query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="No tools yet">
              <p>With tools the agent reads and changes things in your own systems.</p>
              {buttons}
            </Empty>
          ) : (
            <>
              <div className="flex justify-end">{buttons}</div>
              {data.map((tool) => (
                <ToolCard
                  key={tool.id}
                  agentId={agent.id}
                  tool={tool}
                  onTry={() => setOpen({ is: 'try', tool })}
                  onEdit={mayWrite ? () => setOpen({ is: 'edit', tool }) : undefined}
                  onDelete={mayDelete ? () => setOpen({ is: 'delete', tool }) : undefined}
                />
              ))}
            </>
          )
        }
      </Loaded>
      <ToolEditor agent={agent} tool={edited} open={open?.is === 'edit'} onClose={close} />
      <TryTool agentId={agent.id} tool={open?.is === 'try' ? open.tool : undefined} onClose={close} />
      <ImportTools agentId={agent.id} open={open?.is === 'import'} onClose={close} />
      <Confirm
        open={open?.is === 'delete'}
        onClose={close}
        title={`Remove ${open?.is === 'delete' ? open.tool.name : 'the tool'}?`}
        verb="Remove"
        action={async () => {
          if (open?.is !== 'delete') return;
          const path = { id: agent.id, schemaId: open.tool.id };
          await take(api.DELETE('/api/agents/{id}/schemas/{schemaId}', { params: { path } }));
          await queries.invalidateQueries({ queryKey: agentKey });
        }}
      >
        The published version keeps it until the next publication.
      </Confirm>
    </div>
  );
}
