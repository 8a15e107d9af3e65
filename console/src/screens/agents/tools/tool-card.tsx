import { useMutation } from '@tanstack/react-query';
import { Globe, Play, Server, Users } from 'lucide-react';
import { api, take } from '../../../api/client';
import { queries, useKey } from '../../../api/queries';
import { useAllowed } from '../../../session/use-session';
import { Badge, type Tone } from '../../../ui/badge';
import { Button } from '../../../ui/button';
import { failed, succeeded } from '../../../ui/toasts';
import { Findings } from '../findings';
import type { Tool } from '../types';

const icons = { api: Globe, mcp: Server, agent: Users } as const;
const kinds = { api: 'HTTP', mcp: 'MCP server', agent: 'sub-agent' } as const;
const tones: Readonly<Record<Tool['validation']['state'], Tone>> = {
  valid: 'good',
  invalid: 'bad',
  unchecked: 'neutral',
};

export function ToolCard({
  agentId,
  tool,
  onTry,
  onEdit,
  onDelete,
}: {
  readonly agentId: string;
  readonly tool: Tool;
  readonly onTry: () => void;
  readonly onEdit: (() => void) | undefined;
  readonly onDelete: (() => void) | undefined;
}) {
  const Icon = icons[tool.type];
  const mayTry = useAllowed('tools:update') && tool.type !== 'agent';
  return (
    <article
      className="flex flex-col gap-2 rounded-lg border border-line bg-surface p-3"
      aria-label={tool.name}
    >
      <div className="flex flex-wrap items-center gap-2">
        <Icon size={16} aria-hidden className="text-muted" />
        <h2 className="font-mono text-sm font-medium wrap-anywhere">{tool.name}</h2>
        <Badge>{kinds[tool.type]}</Badge>
        <Badge tone={tones[tool.validation.state]}>{tool.validation.state}</Badge>
        {tool.editor_schema['approval'] === 'always' && <Badge tone="warn">asks a person</Badge>}
        <span className="ml-auto flex gap-1.5">
          {tool.type === 'mcp' && onEdit !== undefined && <Discover agentId={agentId} tool={tool} />}
          {mayTry && (
            <Button icon={<Play size={14} aria-hidden />} onClick={onTry}>
              Try
            </Button>
          )}
          {onEdit !== undefined && <Button onClick={onEdit}>Edit</Button>}
          {onDelete !== undefined && (
            <Button kind="quiet" onClick={onDelete}>
              Remove
            </Button>
          )}
        </span>
      </div>
      <p className="font-mono text-xs wrap-anywhere text-muted">{addressOf(tool)}</p>
      {tool.description !== '' && <p className="text-sm wrap-anywhere">{tool.description}</p>}
      {tool.tools !== null && tool.tools.length > 0 && (
        <p className="flex flex-wrap gap-1">
          {tool.tools.map(({ name }) => (
            <Badge key={name}>{name}</Badge>
          ))}
        </p>
      )}
      <Findings issues={tool.validation.issues} />
    </article>
  );
}

function Discover({ agentId, tool }: { readonly agentId: string; readonly tool: Tool }) {
  const key = useKey('agents', agentId, 'tools');
  const { mutate, isPending } = useMutation({
    mutationFn: () =>
      take(
        api.POST('/api/agents/{id}/schemas/{schemaId}/discover', {
          params: { path: { id: agentId, schemaId: tool.id } },
        }),
      ),
    onSuccess: async ({ data }) => {
      await queries.invalidateQueries({ queryKey: key });
      succeeded(`${tool.name} has ${data.tools.length} tools`);
    },
    onError: (error) => failed(`${tool.name} did not list its tools`, error),
  });
  return (
    <Button busy={isPending} onClick={() => mutate()}>
      Read its tools
    </Button>
  );
}

function addressOf({ type, editor_schema: editor }: Tool): string {
  const part = (editor[type] ?? {}) as Readonly<Record<string, unknown>>;
  if (type === 'api') return `${String(part['method'])} ${String(part['url'])}`;
  return type === 'mcp' ? String(part['url']) : `agent ${String(part['agent_id'])}`;
}
