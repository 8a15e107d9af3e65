import type { Client } from '#client';
import type { Fields } from './manifest.js';

export interface Stored {
  readonly id: string;
  readonly name: string;
  readonly fields: Fields;
}

export interface StoredAgent extends Stored {
  readonly status: string;
  /** An agent without any was never published. */
  readonly hasVersions: boolean;
  readonly publishConfig: Fields;
  readonly tools: readonly Stored[];
  readonly triggers: readonly Stored[];
}

/** What the tenant has now, of the kinds that a file may declare. */
export interface TenantState {
  readonly secrets: readonly Stored[];
  readonly databases: readonly Stored[];
  readonly agents: readonly StoredAgent[];
}

const readOnly: ReadonlySet<string> = new Set([
  'id',
  'agent_id',
  'status',
  'config',
  'published_version',
  'created_by',
  'created_at',
  'updated_at',
  'validation',
  'tools',
  'tools_read_at',
  'webhook_url',
  'next_runs',
  'source',
  'schema',
  'last_refresh',
]);

/** Reads whole documents of the wanted agents; undefined: of all. Names of the others are there for references. */
export async function readState(
  client: Client,
  wanted: ReadonlySet<string> | undefined,
): Promise<TenantState> {
  const page = { query: { limit: 100 } };
  const [secrets, databases, agents, triggers] = await Promise.all([
    client.secrets.list(page).all(),
    client.databases.list(page).all(),
    client.agents.list(page).all(),
    client.triggers.list(page).all(),
  ]);
  const stored: StoredAgent[] = [];
  for (const { id, name } of agents) {
    const isWanted = wanted?.has(name) ?? true;
    stored.push(
      isWanted
        ? await readAgent(client, id, triggers)
        : {
            id,
            name,
            fields: {},
            status: '',
            hasVersions: false,
            publishConfig: {},
            tools: [],
            triggers: [],
          },
    );
  }
  const full: Stored[] = [];
  for (const { id } of databases) full.push(storedFrom((await client.databases.get({ path: { id } })).data));
  return { secrets: secrets.map(storedFrom), databases: full, agents: stored };
}

async function readAgent(
  client: Client,
  id: string,
  triggers: readonly { readonly id: string; readonly name: string; readonly agent_id: string }[],
): Promise<StoredAgent> {
  const path = { id };
  const [{ data: agent }, { data: tools }] = await Promise.all([
    client.agents.get({ path }),
    client.agentSchemas.list({ path }),
  ]);
  return {
    ...storedFrom(agent),
    status: agent.status,
    hasVersions: agent.status !== 'draft' || (await hasVersions(client, id)),
    publishConfig: agent.config,
    tools: tools.map(storedFrom),
    triggers: triggers.filter((trigger) => trigger.agent_id === id).map(storedFrom),
  };
}

async function hasVersions(client: Client, id: string): Promise<boolean> {
  const { data } = await client.agentVersions.list({ path: { id }, query: { limit: 1 } });
  return data.length > 0;
}

function storedFrom(row: { readonly id: string; readonly name: string }): Stored {
  const fields = Object.fromEntries(Object.entries(row).filter(([field]) => !readOnly.has(field)));
  return { id: row.id, name: row.name, fields };
}
