import { useQuery } from '@tanstack/react-query';
import { api, take } from '../../../api/client';
import { useKey } from '../../../api/queries';
import { CheckField } from '../../../ui/check-field';
import { SelectField, TextField } from '../../../ui/field';
import { JsonField } from '../../../ui/json-field';
import { PairsField } from '../../../ui/pairs-field';
import type { Tool } from '../types';
import { AuthFields } from './auth-fields';
import type { ToolDraft } from './tool-draft';

export interface TypeFormProps {
  readonly draft: ToolDraft;
  readonly change: (part: Partial<ToolDraft>) => void;
  /** What is wrong with a field of the type's own part. */
  readonly problem: (field: string) => string | undefined;
}

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map((method) => [method, method] as const);

export function ApiForm({ draft, change, problem }: TypeFormProps) {
  return (
    <>
      <div className="grid gap-4 sm:grid-cols-[8rem_1fr]">
        <SelectField
          label="Method"
          options={methods}
          value={draft.method}
          onChange={({ target }) => change({ method: target.value })}
        />
        <TextField
          label="Address"
          placeholder="https://api.example.com/orders/${args.id}"
          hint="Placeholders after the host: ${args.…} of the model, ${context.…} of the caller, ${secret.…} of the vault."
          problem={problem('url')}
          value={draft.url}
          onChange={({ target }) => change({ url: target.value })}
          required
        />
      </div>
      <PairsField
        label="Query"
        problem={problem('query')}
        pairs={draft.query}
        onChange={(query) => change({ query })}
      />
      <PairsField
        label="Headers"
        problem={problem('headers')}
        pairs={draft.headers}
        onChange={(headers) => change({ headers })}
      />
      {draft.method !== 'GET' && (
        <JsonField
          label="Body"
          hint="A text that is one placeholder becomes its value, of whatever type."
          problem={problem('body')}
          value={draft.body}
          onChange={(body) => change({ body })}
        />
      )}
      <AuthFields draft={draft} change={change} problem={problem} />
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField
          label="Part of the answer"
          placeholder="items[].{id: id, name: title}"
          hint="JMESPath; empty: the whole answer goes to the model."
          problem={problem('response.select')}
          value={draft.select}
          onChange={({ target }) => change({ select: target.value })}
        />
        <Timeout draft={draft} change={change} problem={problem('timeout_ms')} />
      </div>
      <CheckField
        label="May be repeated"
        hint="The call is made again when it is unknown whether it arrived."
        checked={draft.idempotent}
        onChange={({ target }) => change({ idempotent: target.checked })}
      />
    </>
  );
}

export function McpForm({
  draft,
  change,
  problem,
  tools,
}: TypeFormProps & { readonly tools: Tool['tools'] }) {
  const known = tools?.map(({ name }) => name).join(', ');
  return (
    <>
      <TextField
        label="Address of the server"
        placeholder="https://mcp.example.com/mcp"
        hint="Streamable HTTP."
        problem={problem('url')}
        value={draft.url}
        onChange={({ target }) => change({ url: target.value })}
        required
      />
      <AuthFields draft={draft} change={change} problem={problem} />
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField
          label="Allowed tools"
          hint={
            known === undefined ? 'Separated by commas; empty: all.' : `Empty: all. The server has ${known}.`
          }
          problem={problem('allowed_tools')}
          value={draft.allowedTools}
          onChange={({ target }) => change({ allowedTools: target.value })}
        />
        <Timeout draft={draft} change={change} problem={problem('call_timeout_ms')} />
      </div>
      <PairsField
        label="Arguments from the context"
        names="Path, such as body[].requesterId"
        values="Name in the context"
        hint="The value of the caller replaces what the model writes there."
        problem={problem('defaults_from_context')}
        pairs={draft.defaults}
        onChange={(defaults) => change({ defaults })}
      />
    </>
  );
}

export function AgentForm({ draft, change, problem, own }: TypeFormProps & { readonly own: string }) {
  const { data } = useQuery({
    queryKey: useKey('agents', 'published'),
    queryFn: ({ signal }) => take(api.GET('/api/agents/published', { signal })),
  });
  const others = (data?.data ?? []).filter(({ id }) => id !== own);
  const isListed = draft.agentId === '' || others.some(({ id }) => id === draft.agentId);
  return (
    <SelectField
      label="Agent"
      hint="It answers with its published version. Only published agents can be asked."
      problem={problem('agent_id')}
      value={draft.agentId}
      options={[
        ['', 'Choose an agent'],
        ...(isListed ? [] : [[draft.agentId, draft.agentId] as const]),
        ...others.map(({ id, commercial_name: shown }) => [id, shown] as const),
      ]}
      onChange={({ target }) => change({ agentId: target.value })}
      required
    />
  );
}

function Timeout({
  draft,
  change,
  problem,
}: Pick<TypeFormProps, 'draft' | 'change'> & { readonly problem: string | undefined }) {
  return (
    <TextField
      label="Time limit"
      type="number"
      min={1_000}
      max={120_000}
      placeholder="30000"
      hint="Milliseconds, 1,000 to 120,000."
      problem={problem}
      value={draft.timeoutMs}
      onChange={({ target }) => change({ timeoutMs: target.value })}
    />
  );
}
