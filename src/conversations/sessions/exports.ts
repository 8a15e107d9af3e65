import { type ExportSource, keysetSource } from '../../http/exports/index.js';
import type { Store } from '../../infra/storage/index.js';
import { listExecutions, walkMessages, walkSessions } from './reads.store.js';
import {
  executionAnswer,
  executionShape,
  messageAnswer,
  messageShape,
  sessionAnswer,
  sessionShape,
} from './responses.js';

export interface SessionExports {
  readonly sessions: ExportSource;
  readonly messages: ExportSource;
  readonly executions: ExportSource;
}

export function sessionExports(store: Store): SessionExports {
  return {
    // By id: a session that continues meanwhile keeps its place.
    sessions: keysetSource({
      columns: Object.keys(sessionShape.shape),
      read: (scope, range, after: string | undefined, limit) =>
        store.inTenant(scope, (tx) => walkSessions(tx, range, after, limit)),
      keyOf: ({ id }) => id,
      exported: (rows) => rows.map(sessionAnswer),
    }),
    messages: keysetSource({
      columns: ['session_id', ...Object.keys(messageShape.shape)],
      read: (scope, range, after: { sessionId: string; number: number } | undefined, limit) =>
        store.inTenant(scope, (tx) => walkMessages(tx, range, after, limit)),
      keyOf: ({ session_id: sessionId, number }) => ({ sessionId, number }),
      exported: (rows) => rows.map(messageAnswer),
    }),
    executions: keysetSource({
      columns: Object.keys(executionShape.shape),
      read: (scope, range, after: { at: Date; id: string } | undefined, limit) =>
        store.inTenant(scope, (tx) => listExecutions(scope, tx, { ...range, after, limit })),
      keyOf: ({ created_at: at, id }) => ({ at, id }),
      exported: (rows) => rows.map(executionAnswer),
    }),
  };
}
