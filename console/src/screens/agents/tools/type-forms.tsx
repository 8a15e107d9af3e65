import { useQuery } from '@tanstack/react-query';
import { api, take } from '../../../api/client';
import { useKey } from '../../../api/queries';
import { useSecretNames } from '../../../api/secret-names';
import type { FieldSpecs, Raws } from '../../../ui/form/fields';
import { FormFields } from '../../../ui/form/form-fields';
import type { Tool } from '../types';
import type { ToolDraft } from './tool-draft';

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map((method) => [method, method] as const);

const timeLimit = (api: string) =>
  ({
    kind: 'number',
    label: 'Time limit',
    api,
    placeholder: '30000',
    hint: 'Milliseconds, 1,000 to 120,000.',
    min: 1_000,
    max: 120_000,
    whole: true,
    half: true,
  }) as const;

/** How the tool proves itself. The value stays in the vault; here is only its name. */
const authFields = (secrets: readonly string[]): FieldSpecs => ({
  authType: {
    kind: 'choice',
    label: 'Authentication',
    api: 'auth.type',
    options: [
      ['none', 'none'],
      ['bearer', 'Bearer token'],
      ['basic', 'User and password'],
      ['api_key', 'Key in a header'],
    ],
  },
  secret: {
    kind: 'text',
    label: 'Secret',
    api: 'auth.secret_ref',
    hint: ({ authType }) =>
      authType === 'basic' ? 'Its value is user:password.' : 'The name of a secret in the vault.',
    autoComplete: 'off',
    required: true,
    suggestions: secrets,
    half: true,
    shown: ({ authType }) => authType !== 'none',
  },
  header: {
    kind: 'text',
    label: 'Header',
    api: 'auth.header',
    placeholder: 'X-Api-Key',
    half: true,
    shown: ({ authType }) => authType === 'api_key',
  },
});

const apiFields = (secrets: readonly string[]): FieldSpecs => ({
  method: { kind: 'choice', label: 'Method', options: methods },
  url: {
    kind: 'text',
    label: 'Address',
    placeholder: 'https://api.example.com/orders/${args.id}',
    hint: 'Placeholders after the host: ${args.…} of the model, ${context.…} of the caller, ${secret.…} of the vault.',
    required: true,
  },
  query: { kind: 'pairs', label: 'Query' },
  headers: { kind: 'pairs', label: 'Headers' },
  body: {
    kind: 'json',
    label: 'Body',
    hint: 'A text that is one placeholder becomes its value, of whatever type.',
    shown: ({ method }) => method !== 'GET',
  },
  ...authFields(secrets),
  select: {
    kind: 'text',
    label: 'Part of the answer',
    api: 'response.select',
    placeholder: 'items[].{id: id, name: title}',
    hint: 'JMESPath; empty: the whole answer goes to the model.',
    half: true,
  },
  timeoutMs: timeLimit('timeout_ms'),
  idempotent: {
    kind: 'check',
    label: 'May be repeated',
    hint: 'The call is made again when it is unknown whether it arrived.',
  },
});

const mcpFields = (secrets: readonly string[], tools: Tool['tools']): FieldSpecs => ({
  url: {
    kind: 'text',
    label: 'Address of the server',
    placeholder: 'https://mcp.example.com/mcp',
    hint: 'Streamable HTTP.',
    required: true,
  },
  ...authFields(secrets),
  allowedTools: {
    kind: 'text',
    label: 'Allowed tools',
    api: 'allowed_tools',
    hint:
      tools == null
        ? 'Separated by commas; empty: all.'
        : `Empty: all. The server has ${tools.map(({ name }) => name).join(', ')}.`,
    half: true,
  },
  timeoutMs: timeLimit('call_timeout_ms'),
  defaults: {
    kind: 'pairs',
    label: 'Arguments from the context',
    api: 'defaults_from_context',
    names: 'Path, such as body[].requesterId',
    values: 'Name in the context',
    hint: 'The value of the caller replaces what the model writes there.',
  },
});

function useAgentFields(chosen: string, own: string): FieldSpecs {
  const { data } = useQuery({
    queryKey: useKey('agents', 'published'),
    queryFn: ({ signal }) =>
      take(api.GET('/api/agents/published', { params: { query: { limit: 100 } }, signal })),
  });
  const others = (data?.data ?? []).filter(({ id }) => id !== own);
  const isListed = chosen === '' || others.some(({ id }) => id === chosen);
  return {
    agentId: {
      kind: 'choice',
      label: 'Agent',
      api: 'agent_id',
      hint: 'It answers with its published version. Only published agents can be asked.',
      options: [
        ['', 'Choose an agent'],
        ...(isListed ? [] : [[chosen, chosen] as const]),
        ...others.map(({ id, commercial_name: shown }) => [id, shown] as const),
      ],
      required: true,
    },
  };
}

/** The part of a tool that its type has of its own. */
export function TypeFields({
  draft,
  own,
  tools,
  ...held
}: {
  readonly draft: ToolDraft;
  readonly raws: Raws;
  /** What is wrong with a field of the type's own part. */
  readonly problem: (field: string) => string | undefined;
  readonly onChange: (name: string, raw: unknown) => void;
  readonly own: string;
  readonly tools: Tool['tools'];
}) {
  const secrets = useSecretNames();
  const agentFields = useAgentFields(draft.agentId, own);
  if (draft.type === 'agent') return <FormFields specs={agentFields} {...held} />;
  return (
    <FormFields specs={draft.type === 'api' ? apiFields(secrets) : mcpFields(secrets, tools)} {...held} />
  );
}
