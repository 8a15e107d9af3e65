// Agents' face: their definitions, states and versions.
import type { Operation } from '../operations/index.js';
import type { ChangeFeed, Store } from '../storage/index.js';
import { Agents } from './agents.js';
import { agentOperations } from './operations.js';
import { Publishing } from './publishing.js';

export type { AgentRow } from './agents.store.js';
export { type Author, authorOf } from './author.js';

export interface AgentsDependencies {
  readonly store: Store;
  readonly feed: ChangeFeed;
}

export interface AgentsSubject {
  readonly operations: readonly Operation[];
  readonly agents: Agents;
  readonly publishing: Publishing;
}

export function createAgents({ store, feed }: AgentsDependencies): AgentsSubject {
  const agents = new Agents(store);
  const publishing = new Publishing(store, feed);
  return { operations: agentOperations(agents, publishing), agents, publishing };
}
