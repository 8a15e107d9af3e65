// Agents' face: their definitions, tools, states and versions. How a turn runs is not decided here.
import type { Time } from '../../cluster/index.js';
import type { Role } from '../kernel/caller.js';
import type { TenantScope } from '../kernel/tenant-scope.js';
import type { Egress } from '../infra/egress/index.js';
import type { Expressions } from '../infra/expressions/index.js';
import type { Operation } from '../http/operations/index.js';
import type { Sandbox } from '../infra/sandbox/index.js';
import type { ChangeFeed, Store } from '../infra/storage/index.js';
import type { Vault } from '../tenancy/vault/index.js';
import { Agents } from './agents.js';
import { Checks } from './checks.js';
import { duplicateAgent } from './duplication.js';
import { type LiveAgent, LiveAgents } from './live-agents.js';
import type { ModelJudge } from './models.js';
import { agentOperations } from './operations.js';
import { Publishing } from './publishing.js';
import { type RunnableAgent, RunningAgents } from './running-agents.js';
import { schemaOperations } from './schemas/operations.js';
import { Schemas } from './schemas/schemas.js';
import { ToolTest } from './schemas/tool-test.js';
import { findSecretReferences } from './secret-references.js';
import { versionOperations } from './version-operations.js';
import type { Snapshot } from './snapshot.js';
import { SchemaTools } from './tools/schema-tools.js';
import { Versions } from './versions.js';

export type { LiveAgent } from './live-agents.js';
export type { ModelJudge } from './models.js';
export type { RunnableAgent } from './running-agents.js';
export type { Snapshot, SnapshotSchema } from './snapshot.js';
export { depthMax } from './sub-agents.js';
export type { SchemaToolAnswer, SchemaToolCall } from './tools/schema-tools.js';
export { ToolError, type ToolFailure } from './tools/tool-error.js';

export interface AgentsDependencies {
  readonly store: Store;
  readonly feed: ChangeFeed;
  readonly vault: Pick<Vault, 'find' | 'keep' | 'resolve' | 'addReferenceFinder'>;
  readonly egress: Egress;
  readonly sandbox: Pick<Sandbox, 'run'>;
  readonly expressions: Expressions;
  readonly time: Time;
  /** Who judges models before publishing; nobody does when left out. */
  readonly models?: ModelJudge;
}

export interface AgentsSubject {
  readonly operations: readonly Operation[];
  /** Calls HTTP tools and tools of MCP servers for a turn. */
  readonly tools: Pick<SchemaTools, 'call'>;
  /** What runs of a published agent; undefined for one that is not published, or not this tenant's. */
  publishedAgent(scope: TenantScope, id: string): LiveAgent | undefined | Promise<LiveAgent | undefined>;
  /**
   * What a turn of a caller of this role begins with: what is published, or for all but members a draft. Undefined is
   * `agent_not_found`.
   */
  runnableAgent(
    scope: TenantScope,
    id: string,
    role: Role,
  ): RunnableAgent | undefined | Promise<RunnableAgent | undefined>;
  /** The content of a version: a turn goes on with the one that it began with. */
  agentVersion(scope: TenantScope, id: string, version: number): Promise<Snapshot | undefined>;
  stop(): Promise<void>;
}

export function createAgents(dependencies: AgentsDependencies): AgentsSubject {
  const { store, feed, vault, egress, sandbox, expressions, time, models } = dependencies;
  vault.addReferenceFinder(findSecretReferences);
  const agents = new Agents(store);
  const publishing = new Publishing(store, feed, new Checks(vault, egress, sandbox), models);
  const schemas = new Schemas(store, vault, egress);
  const trials = new ToolTest({ store, vault, egress, expressions, time, schemas });
  const live = new LiveAgents(store, feed);
  const running = new RunningAgents(store, live);
  const tools = new SchemaTools({ vault, egress, expressions, time });
  return {
    operations: [
      ...agentOperations({
        agents,
        publishing,
        models,
        duplicate: (author, id, name) => duplicateAgent(store, author, id, name),
      }),
      ...versionOperations(new Versions(store), publishing),
      ...schemaOperations(schemas, trials),
    ],
    tools,
    publishedAgent: (scope, id) => live.get(scope, id),
    runnableAgent: (scope, id, role) => running.get(scope, id, role),
    agentVersion: (scope, id, version) => running.version(scope, id, version),
    stop: () => {
      live.stop();
      return tools.stop();
    },
  };
}
