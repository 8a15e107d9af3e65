import type { AgentDocument } from './document.js';

/** What a version holds: the agent's content and its schemas, as one document. */
export interface Snapshot extends AgentDocument {
  readonly schemas: readonly unknown[];
}
