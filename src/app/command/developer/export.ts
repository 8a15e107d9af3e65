import { writeFile } from 'node:fs/promises';
import { stringify } from 'yaml';
import { agentNamed } from './names.js';
import { developerCommand } from './developer-command.js';
import type { Fields } from './manifest.js';
import { isFields, references } from './plan.js';
import { readState, type Stored, type TenantState } from './tenant-state.js';

export const exportCommand = developerCommand({
  usage: ['export [agent …] [-o FILE]'],
  summary:
    'Writes agents with their tools and triggers, databases and the names of secrets as YAML for troupe apply. Agents\n' +
    'and databases are named, not numbered, so that the file fits other installations. No value of a secret is in it.',
  options: { out: { kind: 'text', short: 'o', about: 'the file; standard output by default' } },
  run: async (context) => {
    const { given, out } = context;
    const client = await context.client();
    for (const name of given.words) await agentNamed(client, name);
    const wanted = given.words.length === 0 ? undefined : new Set(given.words);
    const state = await readState(client, wanted);
    const manifest = manifestOf(state, wanted);
    const text = given.flag('json')
      ? `${JSON.stringify(manifest, null, 2)}\n`
      : stringify(manifest, { lineWidth: 110, aliasDuplicateObjects: false });
    const path = given.text('out');
    if (path === undefined) out.write(text);
    else await writeFile(path, text);
  },
});

function manifestOf(state: TenantState, wanted: ReadonlySet<string> | undefined): Fields {
  const names = namesOf(state);
  const whole = {
    secrets: state.secrets.map(({ fields }) => picked(fields, ['name', 'kind', 'provider', 'allowed_hosts'])),
    databases: state.databases.map(({ fields }) => named(fields, names)),
    agents: state.agents
      .filter(({ name }) => wanted?.has(name) ?? true)
      .map(({ fields, status, publishConfig, tools, triggers }) => ({
        ...fields,
        published: status === 'published',
        ...(status === 'published' && { publish_config: publishConfig }),
        tools: tools.map((tool) => named(without(tool.fields, ['revision']), names)),
        triggers: triggers.map((trigger) => named(trigger.fields, names)),
      })),
  };
  if (wanted === undefined) return whole;
  // Of single agents, only what they name.
  const text = JSON.stringify(whole.agents);
  const isNamed = (one: Fields): boolean => text.includes(JSON.stringify(one['name']));
  const databases = whole.databases.filter(isNamed);
  const all = text + JSON.stringify(databases);
  const secrets = whole.secrets.filter((one) => all.includes(JSON.stringify(one['name'])));
  return { secrets, databases, agents: whole.agents };
}

interface Names {
  readonly agent: ReadonlyMap<unknown, string>;
  readonly database: ReadonlyMap<unknown, string>;
  readonly secret: ReadonlyMap<unknown, string>;
}

function namesOf({ agents, databases, secrets }: TenantState): Names {
  const byId = (all: readonly Stored[]) => new Map<unknown, string>(all.map(({ id, name }) => [id, name]));
  return { agent: byId(agents), database: byId(databases), secret: byId(secrets) };
}

/** With names in place of the ids of agents, databases and secrets. */
function named(fields: Fields, names: Names): Fields {
  const whole = references.reduce<Fields>((part, { field, idField, kind, place, put }) => {
    const { [idField]: id, ...rest } = place(part) ?? {};
    const name = names[kind].get(id);
    return name === undefined ? part : put(part, { ...rest, [field]: name });
  }, fields);
  return withSecretNames(whole, names.secret) as Fields;
}

function withSecretNames(value: unknown, names: ReadonlyMap<unknown, string>): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => withSecretNames(item, names));
  if (!isFields(value)) return value;
  const { vault_secret_id: id, ...rest } = value;
  const inner = Object.fromEntries(
    Object.entries(rest).map(([field, one]) => [field, withSecretNames(one, names)]),
  );
  const name = names.get(id);
  if (id === undefined) return inner;
  if (name === undefined) return { ...inner, vault_secret_id: id };
  return { ...inner, ['host' in inner ? 'password_secret_ref' : 'secret_ref']: name };
}

function picked(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(names.flatMap((name) => (fields[name] == null ? [] : [[name, fields[name]]])));
}

function without(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}
