import microdiff from 'microdiff';
import type { DeclaredAgent, Fields, Manifest } from './manifest.js';
import type { Stored, StoredAgent, TenantState } from './tenant-state.js';

export type Kind = 'secret' | 'database' | 'agent' | 'tool' | 'trigger';

/** One step of a plan, in the order in which it is taken. */
export interface Change {
  readonly action: 'create' | 'update' | 'delete' | 'publish' | 'rotate';
  readonly kind: Kind;
  readonly name: string;
  /** The agent of a tool or a trigger. */
  readonly agent?: string;
  /** Of what is there. */
  readonly id?: string;
  readonly fields: Fields;
  /** What changes, for people. */
  readonly lines: readonly string[];
}

export interface Plan {
  readonly changes: readonly Change[];
  /** What the file needs and nothing provides. */
  readonly problems: readonly string[];
}

export interface PlanOptions {
  /** Deletes the tools and triggers of declared agents that the file does not have. */
  readonly prunes: boolean;
  /** Sends the values of secrets that are there already: the vault does not tell whether a value differs. */
  readonly rotates: boolean;
  readonly hasVariable: (name: string) => boolean;
}

/** Compares the fields that a file declares; fields that it leaves out stay as they are. */
export function planOf(manifest: Manifest, state: TenantState, options: PlanOptions): Plan {
  const secrets = planSecrets(manifest, state, options);
  const databases = manifest.databases.flatMap((declared) =>
    compared('database', declared, storedAs(state.databases, declared.name)),
  );
  const agents = manifest.agents.map((declared) => {
    const stored = state.agents.find(({ name }) => name === declared.name);
    const own = compared('agent', agentFields(declared), stored);
    const tools = parts('tool', declared.tools, stored?.tools, declared.name, options, state);
    const triggers = parts('trigger', declared.triggers, stored?.triggers, declared.name, options, state);
    return { own, tools, triggers, published: publication(declared, stored, own.length + tools.length > 0) };
  });
  return {
    changes: [
      secrets,
      databases,
      // All agents before all tools: a tool may name an agent that the file declares later.
      agents.flatMap(({ own }) => own),
      agents.flatMap(({ tools }) => tools),
      agents.flatMap(({ published }) => published),
      agents.flatMap(({ triggers }) => triggers),
    ].flat(),
    problems: [
      ...missingSecrets(manifest, state, options),
      ...missingReferences(manifest, state),
      ...refusedChanges(manifest, state),
    ],
  };
}

function planSecrets(
  { secrets }: Manifest,
  state: TenantState,
  { rotates, hasVariable }: PlanOptions,
): readonly Change[] {
  return secrets.flatMap((declared): readonly Change[] => {
    const { from_env: variable, ...fields } = declared;
    const { name } = declared;
    const stored = storedAs(state.secrets, name);
    const lines = [`value: from ${variable ?? 'nowhere'}`];
    if (stored === undefined) return [{ action: 'create', kind: 'secret', name, fields: declared, lines }];
    const changes = compared('secret', fields, stored);
    if (!rotates || variable === undefined || !hasVariable(variable)) return changes;
    return [...changes, { action: 'rotate', kind: 'secret', name, id: stored.id, fields: declared, lines }];
  });
}

function missingSecrets(
  { secrets }: Manifest,
  state: TenantState,
  { hasVariable }: PlanOptions,
): readonly string[] {
  return secrets.flatMap(({ name, from_env: variable }) => {
    if (storedAs(state.secrets, name) !== undefined) return [];
    if (variable !== undefined && hasVariable(variable)) return [];
    const how = variable === undefined ? 'name a variable by from_env' : `set ${variable}`;
    return [`The secret ${name} is not in the vault: ${how}, or create it.`];
  });
}

/** The platform sets these once, and ignores or refuses another value. */
function refusedChanges({ secrets, agents }: Manifest, state: TenantState): readonly string[] {
  const ofSecrets = secrets.flatMap((declared) =>
    refused(`The secret ${declared.name}`, declared, storedAs(state.secrets, declared.name), [
      'kind',
      'provider',
    ]),
  );
  const ofTriggers = agents.flatMap(({ name, triggers }) => {
    const stored = state.agents.find((one) => one.name === name)?.triggers ?? [];
    return triggers.flatMap((declared) =>
      refused(`${name}/${declared.name}`, declared, storedAs(stored, declared.name), ['trigger_type']),
    );
  });
  return [...ofSecrets, ...ofTriggers];
}

function refused(
  what: string,
  declared: Fields,
  stored: Stored | undefined,
  fields: readonly string[],
): readonly string[] {
  return fields.flatMap((field) => {
    const [value, before = null] = [declared[field], stored?.fields[field]];
    if (stored === undefined || value === undefined || value === before) return [];
    const change = `cannot be changed from ${textOf(before)} to ${textOf(value)}`;
    return [`${what}: ${field} ${change}. Declare it under another name.`];
  });
}

function agentFields(declared: DeclaredAgent): Fields & { readonly name: string } {
  const { published: _, publish_config: __, tools: ___, triggers: ____, ...fields } = declared;
  return fields;
}

function parts(
  kind: 'tool' | 'trigger',
  declared: readonly (Fields & { readonly name: string })[],
  stored: readonly Stored[] = [],
  agent: string,
  { prunes }: PlanOptions,
  state: TenantState,
): readonly Change[] {
  const changes = declared.flatMap((one) =>
    compared(kind, resolved(one, state), storedAs(stored, one.name)).map((change) => ({
      ...change,
      agent,
      fields: withRevision(change, storedAs(stored, one.name)),
    })),
  );
  if (!prunes) return changes;
  const names = new Set(declared.map(({ name }) => name));
  const gone = stored.filter(({ name }) => !names.has(name));
  return [
    ...changes,
    ...gone.map(({ id, name }) => ({
      action: 'delete' as const,
      kind,
      name,
      agent,
      id,
      fields: {},
      lines: [],
    })),
  ];
}

/** A tool that somebody changes between the plan and its step is refused. Triggers have no revisions. */
function withRevision({ action, fields }: Change, stored: Stored | undefined): Fields {
  const revision = stored?.fields['revision'];
  return action === 'update' && revision !== undefined ? { ...fields, revision } : fields;
}

function publication(
  { name, published, publish_config: config }: DeclaredAgent,
  stored: StoredAgent | undefined,
  hasChanges: boolean,
): readonly Change[] {
  // Where the file does not say: a new agent is published, and one that somebody has unpublished stays so.
  const isWanted = published ?? (stored?.status === 'published' || stored?.hasVersions !== true);
  if (!isWanted) return [];
  const lines = config === undefined ? [] : differences(config, stored?.publishConfig ?? {});
  if (stored?.status === 'published' && !hasChanges && lines.length === 0) return [];
  const fields = config === undefined ? {} : { config };
  return [
    { action: 'publish', kind: 'agent', name, ...(stored !== undefined && { id: stored.id }), fields, lines },
  ];
}

function compared(
  kind: Kind,
  declared: Fields & { readonly name: string },
  stored: Stored | undefined,
): readonly Change[] {
  const { name } = declared;
  if (stored === undefined) {
    return [{ action: 'create', kind, name, fields: declared, lines: differences(declared, {}) }];
  }
  const lines = differences(declared, stored.fields);
  if (lines.length === 0) return [];
  return [{ action: 'update', kind, name, id: stored.id, fields: declared, lines }];
}

function storedAs(stored: readonly Stored[], name: string): Stored | undefined {
  return stored.find((one) => one.name === name);
}

/** One line for each field that would change. */
function differences(declared: Fields, stored: Fields): readonly string[] {
  return microdiff(reachOf(stored, declared) as Record<string, unknown>, { ...declared }).map((change) => {
    const field = change.path.join('.');
    if (change.type === 'CREATE') return `${field}: ${textOf(change.value)}`;
    if (change.type === 'REMOVE') return `${field}: ${textOf(change.oldValue)} → nothing`;
    return `${field}: ${textOf(change.oldValue)} → ${textOf(change.value)}`;
  });
}

/** What is stored of the declared fields: the platform adds defaults, which no file need repeat. */
function reachOf(stored: unknown, declared: unknown): unknown {
  if (Array.isArray(stored) && Array.isArray(declared)) {
    return stored.map((item, index) => (index < declared.length ? reachOf(item, declared[index]) : item));
  }
  if (!isFields(stored) || !isFields(declared)) return stored;
  return Object.fromEntries(
    Object.entries(stored)
      .filter(([name]) => Object.hasOwn(declared, name))
      .map(([name, value]) => [name, reachOf(value, declared[name])]),
  );
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const shownMax = 80;

function textOf(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length <= shownMax ? text : `${text.slice(0, shownMax - 1)}…`;
}

/** Names in place of ids, which differ between installations. */
interface Reference {
  readonly field: string;
  readonly idField: string;
  readonly kind: 'agent' | 'database';
  /** Where the pair of fields stands. */
  readonly place: (part: Fields) => Fields | undefined;
  readonly put: (part: Fields, value: Fields) => Fields;
}

export const references: readonly Reference[] = [
  {
    field: 'agent',
    idField: 'agent_id',
    kind: 'agent',
    place: ({ editor_schema: schema }) => {
      const inner = isFields(schema) ? schema['agent'] : undefined;
      return isFields(inner) ? inner : undefined;
    },
    put: (part, agent) => ({ ...part, editor_schema: { ...(part['editor_schema'] as Fields), agent } }),
  },
  {
    field: 'database',
    idField: 'database_config_id',
    kind: 'database',
    place: ({ trigger_config: config }) => (isFields(config) ? config : undefined),
    put: (part, config) => ({ ...part, trigger_config: config }),
  },
];

/** With ids in place of names, as far as the state knows them; `ids` is asked again when a step is taken. */
export function resolved<Part extends Fields>(part: Part, state: TenantState): Part {
  return references.reduce<Part>((whole, { field, idField, kind, place, put }) => {
    const found = place(whole);
    if (found === undefined || typeof found[field] !== 'string') return whole;
    const { [field]: name, ...rest } = found;
    const all: readonly Stored[] = kind === 'agent' ? state.agents : state.databases;
    const id = all.find((one) => one.name === name)?.id;
    return id === undefined ? whole : (put(whole, { ...rest, [idField]: id }) as Part);
  }, part);
}

function missingReferences({ agents, databases }: Manifest, state: TenantState): readonly string[] {
  const known = {
    agent: new Set([...agents, ...state.agents].map(({ name }) => name)),
    database: new Set([...databases, ...state.databases].map(({ name }) => name)),
  };
  return agents.flatMap((agent) =>
    [...agent.tools, ...agent.triggers].flatMap((part) =>
      references.flatMap(({ field, kind, place }) => {
        const name = place(part)?.[field];
        if (typeof name !== 'string' || known[kind].has(name)) return [];
        return [`${agent.name}/${part.name} names the ${kind} ${name}, which is neither declared nor there.`];
      }),
    ),
  );
}
