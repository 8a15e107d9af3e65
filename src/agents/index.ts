// The public interface of agents: definitions, tools, states and versions. `conversations/turns` runs the turns.
import type { Role } from '../kernel/caller.js';
import type { TenantScope } from '../kernel/tenant-scope.js';
import type { Egress } from '../infra/egress/index.js';
import type { Expressions } from '../infra/expressions/index.js';
import type { JsonObject, Operation } from '../http/operations/index.js';
import type { Sandbox } from '../infra/sandbox/index.js';
import type { Platform } from '../infra/platform/index.js';
import type { Vault } from '../tenancy/vault/index.js';
import { Agents } from './agents.js';
import { namesOfAgents } from './agents.store.js';
import { Checks } from './checks.js';
import { duplicateAgent } from './duplication.js';
import { type LiveAgent, LiveAgents } from './live-agents.js';
import type { ModelChecks } from './models.js';
import { agentOperations } from './operations.js';
import { Publishing } from './publishing.js';
import { type RunnableAgent, RunningAgents } from './running-agents.js';
import { schemaOperations } from './schemas/operations.js';
import { Schemas } from './schemas/schemas.js';
import { faultOfArguments } from './schemas/tool-arguments.js';
import { ToolTest } from './schemas/tool-test.js';
import { findSecretReferences } from './secret-references.js';
import { versionOperations } from './version-operations.js';
import type { Snapshot } from './snapshot.js';
import { SchemaTools } from './tools/schema-tools.js';
import { Versions } from './versions.js';

export { requireAllowedUser } from './allowed-users.js';
export { seesDrafts } from './author.js';
export { agentTopic, draftTopic } from './changes.js';
export type { LiveAgent } from './live-agents.js';
export type { ModelChecks } from './models.js';
export type { RunnableAgent } from './running-agents.js';
export { openApiSource, toolFromOpenApi } from './schemas/openapi-tool.js';
export type { Snapshot, SnapshotSchema } from './snapshot.js';
export { depthMax } from './sub-agents.js';
export type { SchemaToolAnswer, SchemaToolCall } from './tools/schema-tools.js';
export { ToolError, type ToolFailure } from './tools/tool-error.js';

export interface AgentsOptions {
  readonly vault: Pick<Vault, 'find' | 'keep' | 'resolve' | 'addReferenceFinder'>;
  readonly egress: Egress;
  readonly sandbox: Pick<Sandbox, 'run'>;
  readonly expressions: Expressions;
  /** Checks models before publication. Without it, models are not checked. */
  readonly models?: ModelChecks;
}

export interface AgentsSubject {
  readonly operations: readonly Operation[];
  /** Calls HTTP tools and tools of MCP servers for a turn. */
  readonly tools: Pick<SchemaTools, 'call'>;
  /** The published version of an agent; undefined if it is not published or belongs to another tenant. */
  publishedAgent(scope: TenantScope, id: string): LiveAgent | undefined | Promise<LiveAgent | undefined>;
  /**
   * The agent with which a turn of this role starts: the published version or, for all roles but member, a draft.
   * Undefined becomes `agent_not_found`.
   */
  runnableAgent(
    scope: TenantScope,
    id: string,
    role: Role,
  ): RunnableAgent | undefined | Promise<RunnableAgent | undefined>;
  /** The content of a version. A resumed turn keeps the version with which it started. */
  agentVersion(scope: TenantScope, id: string, version: number): Promise<Snapshot | undefined>;
  /** The first fault of arguments for a tool with these parameters; undefined if they fit. */
  faultOfArguments(
    scope: TenantScope,
    parameters: JsonObject,
    value: JsonObject,
  ): Promise<{ readonly at: string; readonly issue: string } | undefined>;
  /** The names of agents by id; archived ones have theirs. */
  namesOf(scope: TenantScope, ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
  stop(): Promise<void>;
}

export function createAgents(
  platform: Pick<Platform, 'store' | 'changes' | 'time' | 'ids'>,
  { vault, egress, sandbox, expressions, models }: AgentsOptions,
): AgentsSubject {
  const { store, changes: feed, time, ids } = platform;
  vault.addReferenceFinder(findSecretReferences);
  const agents = new Agents(store, ids);
  const publishing = new Publishing(platform, new Checks(vault, egress, sandbox), models);
  const schemas = new Schemas({ store, vault, egress, ids });
  const toolTests = new ToolTest({ store, vault, egress, expressions, time, schemas });
  const live = new LiveAgents(store, feed);
  const running = new RunningAgents(store, live);
  const tools = new SchemaTools({ vault, egress, expressions, time });
  return {
    faultOfArguments: (scope, parameters, value) => faultOfArguments(sandbox, scope, parameters, value),
    operations: [
      ...agentOperations({
        agents,
        publishing,
        models,
        duplicate: (author, id, name) => duplicateAgent({ store, ids }, author, id, name),
      }),
      ...versionOperations(new Versions(store), publishing),
      ...schemaOperations(schemas, toolTests),
    ],
    tools,
    publishedAgent: (scope, id) => live.get(scope, id),
    runnableAgent: (scope, id, role) => running.get(scope, id, role),
    agentVersion: (scope, id, version) => running.version(scope, id, version),
    namesOf: (scope, ids) => store.inTenant(scope, (tx) => namesOfAgents(scope, tx, ids)),
    stop: () => {
      live.stop();
      return tools.stop();
    },
  };
}
