import type { Written } from '../../../ui/form/draft';
import { mergePatch } from '../../../ui/form/merge-patch';
import { isPlain, isSame } from '../../../ui/form/rebased';
import { type Pairs, pairsOf, recordOf } from '../../../ui/pairs-field';
import type { NewTool, Tool, ToolType } from '../types';

type Part = Readonly<Record<string, unknown>>;

/** A tool while it is written. The fields of all three types are kept, so that changing the type loses nothing. */
export interface ToolDraft {
  readonly type: ToolType;
  readonly name: string;
  readonly description: string;
  readonly parameters: unknown;
  readonly approval: boolean;
  readonly method: string;
  readonly url: string;
  readonly headers: Pairs;
  readonly query: Pairs;
  readonly body: unknown;
  readonly authType: string;
  /** The name of the secret, or its id. */
  readonly secret: string;
  readonly header: string;
  readonly timeoutMs: string;
  readonly select: string;
  /** The settings of the response as they are saved; `select` is written over its own. */
  readonly response: Part;
  readonly idempotent: boolean;
  readonly allowedTools: string;
  readonly defaults: Pairs;
  readonly agentId: string;
}

const textIn = (part: Part, name: string): string => {
  const value = part[name];
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';
};

export function draftOfTool(tool: Tool | undefined): ToolDraft {
  const type = tool?.type ?? 'api';
  const editor = tool?.editor_schema ?? {};
  const part = (editor[type] ?? {}) as Part;
  const auth = (part['auth'] ?? {}) as Part;
  const allowed = part['allowed_tools'];
  const response = (part['response'] ?? {}) as Part;
  return {
    type,
    name: tool?.name ?? '',
    description: tool?.description ?? '',
    parameters: tool?.parameters ?? { type: 'object', properties: {} },
    approval: editor['approval'] === 'always',
    method: textIn(part, 'method') || 'GET',
    url: textIn(part, 'url'),
    headers: pairsOf(part['headers'] as Part | undefined),
    query: pairsOf(part['query'] as Part | undefined),
    body: part['body'],
    authType: textIn(auth, 'type') || 'none',
    secret: textIn(auth, 'secret_ref') || textIn(auth, 'vault_secret_id'),
    header: textIn(auth, 'header'),
    timeoutMs: textIn(part, 'timeout_ms') || textIn(part, 'call_timeout_ms'),
    select: textIn(response, 'select'),
    response,
    idempotent: part['idempotent'] === true,
    allowedTools: Array.isArray(allowed) ? allowed.join(', ') : '',
    defaults: pairsOf(part['defaults_from_context'] as Part | undefined),
    agentId: textIn(part, 'agent_id'),
  };
}

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

function authOf({ authType: type, secret, header }: ToolDraft): object {
  if (type === 'none') return { type };
  return {
    type,
    ...(uuid.test(secret) ? { vault_secret_id: secret } : { secret_ref: secret }),
    ...(type === 'api_key' && header !== '' && { header }),
  };
}

/** Settings that are not there are undefined; JSON leaves them out. */
function editorSchemaOf(draft: ToolDraft): object {
  const auth = authOf(draft);
  const timeout = draft.timeoutMs === '' ? undefined : Number(draft.timeoutMs);
  const approval = draft.approval ? 'always' : undefined;
  if (draft.type === 'agent') return { agent: { agent_id: draft.agentId }, approval };
  if (draft.type === 'mcp') {
    const names = draft.allowedTools.split(',').map((name) => name.trim());
    const allowed = names.filter((name) => name !== '');
    return {
      mcp: {
        url: draft.url,
        auth,
        call_timeout_ms: timeout,
        allowed_tools: allowed.length === 0 ? undefined : allowed,
        defaults_from_context: recordOf(draft.defaults),
      },
      approval,
    };
  }
  const response = { ...draft.response, select: draft.select === '' ? undefined : draft.select };
  return {
    api: {
      method: draft.method,
      url: draft.url,
      headers: recordOf(draft.headers),
      query: recordOf(draft.query),
      body: draft.method === 'GET' ? undefined : draft.body,
      auth,
      timeout_ms: timeout,
      response: isSame(response, {}) ? undefined : response,
      idempotent: draft.idempotent ? true : undefined,
    },
    approval,
  };
}

export function toolOf(draft: ToolDraft): NewTool {
  const { type, name, description, parameters } = draft;
  return { type, name, description, parameters, editor_schema: editorSchemaOf(draft) } as NewTool;
}

/** A saved tool may hold a body beside the method GET, which then goes. */
function savedTool(base: ToolDraft): NewTool {
  const { editor_schema: schema, ...rest } = toolOf(base);
  const { api } = schema as { readonly api?: object };
  return {
    ...rest,
    editor_schema: { ...schema, ...(api !== undefined && { api: { ...api, body: base.body } }) },
  } as NewTool;
}

/** Only what changed, so that settings that this form does not show stay. */
export function toolPatchOf({ base, draft }: Written<ToolDraft>, revision: number) {
  return { ...mergePatch(savedTool(base), toolOf(draft)), revision };
}

/** A JSON Schema with the arguments that the placeholders `${args.…}` of a tool name. */
export function parametersFrom(draft: ToolDraft): Record<string, unknown> {
  const texts = JSON.stringify([draft.url, draft.headers, draft.query, draft.body ?? null]);
  const names = new Set([...texts.matchAll(/\$\{args\.([A-Za-z0-9_-]+)/g)].map(([, name]) => name ?? ''));
  const present = isPlain(draft.parameters) ? draft.parameters : {};
  const known = isPlain(present['properties']) ? present['properties'] : {};
  const properties = Object.fromEntries(
    [...names].map((name) => [name, known[name] ?? { type: 'string', description: '' }]),
  );
  return { ...present, type: 'object', properties: { ...known, ...properties }, required: [...names] };
}
