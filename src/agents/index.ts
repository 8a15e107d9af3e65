// Agents' face: their definitions, tools, states and versions. How a turn runs is not decided here.
import type { Time } from '../../cluster/index.js';
import type { TenantScope } from '../context/tenant-scope.js';
import type { Egress } from '../egress/index.js';
import type { Expressions } from '../expressions/index.js';
import type { Operation } from '../operations/index.js';
import type { ChangeFeed, Store } from '../storage/index.js';
import type { Vault } from '../vault/index.js';
import { Agents } from './agents.js';
import { Checks } from './checks.js';
import { duplicateAgent } from './duplication.js';
import { type LiveAgent, LiveAgents } from './live-agents.js';
import { agentOperations } from './operations.js';
import { Publishing } from './publishing.js';
import { schemaOperations } from './schemas/operations.js';
import { Schemas } from './schemas/schemas.js';
import { Trials } from './schemas/trials.js';
import { findSecretReferences } from './secret-references.js';
import { versionOperations } from './version-operations.js';
import { Versions } from './versions.js';

export type { LiveAgent } from './live-agents.js';
export type { Snapshot, SnapshotSchema } from './snapshot.js';

export interface AgentsDependencies {
  readonly store: Store;
  readonly feed: ChangeFeed;
  readonly vault: Pick<Vault, 'find' | 'keep' | 'resolve' | 'addReferenceFinder'>;
  readonly egress: Egress;
  readonly expressions: Expressions;
  readonly time: Time;
}

export interface AgentsSubject {
  readonly operations: readonly Operation[];
  /** What runs of a published agent; undefined for one that is not published, or not this tenant's. */
  publishedAgent(scope: TenantScope, id: string): LiveAgent | undefined | Promise<LiveAgent | undefined>;
  stop(): void;
}

export function createAgents(dependencies: AgentsDependencies): AgentsSubject {
  const { store, feed, vault, egress, expressions, time } = dependencies;
  vault.addReferenceFinder(findSecretReferences);
  const agents = new Agents(store);
  const publishing = new Publishing(store, feed, new Checks(vault, egress));
  const schemas = new Schemas(store, vault, egress);
  const trials = new Trials({ store, vault, egress, expressions, time, schemas });
  const live = new LiveAgents(store, feed);
  return {
    operations: [
      ...agentOperations({
        agents,
        publishing,
        duplicate: (author, id, name) => duplicateAgent(store, author, id, name),
      }),
      ...versionOperations(new Versions(store), publishing),
      ...schemaOperations(schemas, trials),
    ],
    publishedAgent: (scope, id) => live.get(scope, id),
    stop: () => live.stop(),
  };
}
