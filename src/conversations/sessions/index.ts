// The public interface of sessions: conversations with agents, their turns and their control mode.
import type { RecoverySource, Reference } from '../../../cluster/index.js';
import { type Actors, toPlatformError } from '../../infra/runtime/index.js';
import type { Platform } from '../../infra/platform/index.js';
import type { AgentsSubject } from '../../agents/index.js';
import type { ModelCalls } from '../../models/calls/index.js';
import { LeaveController } from '../../kernel/leave-signal.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { TenantLabels } from '../../infra/diagnostics/index.js';
import type { Operation } from '../../http/operations/index.js';
import type { Sealer } from '../../infra/sealing/index.js';
import type { Store } from '../../infra/storage/index.js';
import { approvalOperations } from './approval-operations.js';
import { AgentAdmission } from './agent-admission.js';
import { agentWindowActor } from './agent-window.actor.js';
import type { Attachments } from '../attachments/index.js';
import { ChatTurns, type ChatTurnsParts } from './chat-turns.js';
import { type ConsumerSessionParts, consumerSessionOperations } from './consumer-operations.js';
import { executionOperations, type FindPromised } from './execution-operations.js';
import type { FailedTurn, SessionActorParts, SessionService } from './parts.js';
import { otherParticipant } from './erasure.store.js';
import { listMessagesBefore } from './reads.store.js';
import { controlExpiries, turnRecovery } from './recovery.js';
import { expiryId, type UnfinishedTurn, unfinishedTurns } from './recovery.store.js';
import type { ExecutionRow, MessageRow } from './rows.js';
import { SealedValues } from './sealed-values.js';
import { sessionActor } from './session.actor.js';
import { SessionChanges } from './session-changes.js';
import { sessionOperations } from './session-operations.js';
import { sessionTables } from './session.store.js';
import { Sessions } from './sessions.js';
import { streamOperations } from './stream-operations.js';

export { sessionExports } from './exports.js';
export type { Sessions, WantedTurn } from './sessions.js';
export type { ChatTurn, ChatTurns } from './chat-turns.js';
export type { AgentAdmission } from './agent-admission.js';
export { figuresOfConsumers } from './consumer-figures.store.js';
export {
  forgetErased,
  forgetExecutions,
  forgetLogs,
  forgetMessages,
  type MessagePlace,
  type OldSession,
  sessionsBefore,
} from './retention.store.js';
export { resealExecutionValues } from './reseal.store.js';
export { sessionRemovals } from './removal.store.js';
export { listMessagesBefore, listSteps } from './reads.store.js';
export { numberAfter, numberCursor } from './pages.js';
export {
  countTriggered,
  sumTriggered,
  findTriggered,
  hasSession,
  lastTriggerOf,
  messageWrittenAt,
  listTriggered,
  recordRefused,
  type RefusedExecution,
  setAnswerCut,
  setDelivery,
  type TriggeredExecution,
  type TriggeredPage,
} from './triggered.store.js';
import { TurnMeasures } from './turn-measures.js';
import { TurnsAtWork } from './turns-at-work.js';

export interface SessionsOptions {
  readonly actors: Actors;
  readonly agents: Pick<AgentsSubject, 'runnableAgent' | 'agentVersion' | 'faultOfArguments'>;
  readonly models: Pick<ModelCalls, 'preflight'>;
  readonly turns: SessionActorParts['turns'];
  readonly sealer: Sealer;
  readonly tenantAtWork: SessionActorParts['tenantAtWork'];
  readonly onFailedTurn?: (failed: FailedTurn) => void;
  /** Counts turns for `/metrics`, with series for these tenants; absent: nothing is counted. */
  readonly tenants?: TenantLabels | undefined;
  readonly isDenied: SessionActorParts['isDenied'];
  readonly factsOf: SessionActorParts['factsOf'];
  readonly nameOf: SessionActorParts['nameOf'];
  readonly isKnownConsumer: ConsumerSessionParts['isKnownConsumer'];
  readonly erasePerson: ConsumerSessionParts['erasePerson'];
  readonly forgetAccepted: ConsumerSessionParts['forgetAccepted'];
  readonly findPromised: FindPromised;
  readonly attachments: Attachments;
  readonly fit: ChatTurnsParts['fit'];
}

export interface SessionsSubject {
  readonly operations: readonly Operation[];
  readonly sessions: Sessions;
  readonly admission: AgentAdmission;
  /** Turns of people and programs that chat with an agent. */
  readonly chats: ChatTurns;
  /**
   * Ends the streams of changed sessions, of single sessions, and of turns that wait for a person, so that their readers go
   * to other nodes before this node stops.
   */
  stopStreams(): void;
  /** The metrics of turns on this node, in the Prometheus format. */
  measures(): Promise<string>;
  /** Cancels the turns that this process works on: of one tenant, or of every suspended one. */
  cancelTurnsOfSuspended(tenantId?: string): void;
}

export function createSessions(
  platform: Pick<Platform, 'store' | 'reads' | 'changes' | 'time' | 'ids' | 'log'>,
  options: SessionsOptions,
): SessionsSubject {
  const { store, reads, time, ids, log } = platform;
  const { actors, agents, models, turns, sealer } = options;
  const { report } = log;
  const newId = (): string => ids.uuid();
  const { seal, unseal } = new SealedValues(sealer);
  let references: ((tenantId: string, sessionId: string) => Reference<SessionService>) | undefined;
  const session = (tenantId: string, sessionId: string): Reference<SessionService> => {
    if (references === undefined) throw new Error('The session references are used before they are created');
    return references(tenantId, sessionId);
  };
  const atWork = new TurnsAtWork();
  const measures =
    options.tenants && new TurnMeasures({ tenants: options.tenants, running: () => atWork.count });
  const kind = sessionActor(actors.commits(sessionTables), {
    turns,
    agents,
    tenantAtWork: options.tenantAtWork,
    isDenied: options.isDenied,
    factsOf: options.factsOf,
    nameOf: options.nameOf,
    seal,
    unseal,
    olderMessages: (scope, sessionId, before, limit) => olderMessages(store, scope, sessionId, before, limit),
    otherParticipant: (scope, sessionId, key) =>
      store.inTenant(scope, (tx) => otherParticipant(tx, sessionId, key)),
    attachmentContents: (scope, refs) => options.attachments.contents(scope, refs),
    self: session,
    atWork,
    onTurnBegun: ({ created_at }, begin) => measures?.began(begin, time.wallMs() - Date.parse(created_at)),
    onTurnEnded: (row) => {
      measures?.ended(row);
      if (row.outcome === 'FAILED') options.onFailedTurn?.(failedTurn(row));
    },
    armExpiry: ({ tenantId, sessionId, slot, dueInMs }) =>
      expiries.armed({ id: expiryId(tenantId, sessionId), slot, dueInMs }),
    time,
    newId,
    report,
  });
  actors.register(kind);
  references = actors.references(kind);
  const window = agentWindowActor(time);
  actors.register(window);
  const unfinished: RecoverySource<UnfinishedTurn>['unfinished'] = (slots, limit, beyond) =>
    unfinishedTurns(store, slots, actors.process, limit, beyond);
  actors.recover('turns', turnRecovery(unfinished, session, report));
  const expiries = actors.timers('control_expiries', controlExpiries(store, session));

  const sessions = new Sessions({ store, reads, session, time, newId, refusalOf: toPlatformError });
  const admission = new AgentAdmission({
    agents,
    models,
    window: actors.references(window),
    refusalOf: toPlatformError,
    time,
  });
  const { attachments, fit } = options;
  const stopping = new LeaveController();
  const chats = new ChatTurns({ sessions, admission, attachments, fit, time, stopping, newId });
  const changes = new SessionChanges({ store, time, report });
  return {
    operations: [
      ...streamOperations({ sessions, chats, report }),
      ...sessionOperations({ sessions, store, admission, time, changes, stopping }),
      ...executionOperations(store, options.findPromised),
      ...approvalOperations({ sessions, store, unseal, faultOfArguments: agents.faultOfArguments }),
      ...consumerSessionOperations({
        store,
        feed: platform.changes,
        sessions,
        isKnownConsumer: options.isKnownConsumer,
        erasePerson: options.erasePerson,
        forgetAccepted: options.forgetAccepted,
      }),
    ],
    sessions,
    admission,
    chats,
    stopStreams() {
      changes.stop();
      stopping.leave();
    },
    measures: async () => (await measures?.text()) ?? '',
    cancelTurnsOfSuspended(tenantId) {
      const cancel = async (): Promise<void> => {
        for (const tenant of tenantId === undefined ? atWork.tenants : [tenantId]) {
          const found = await options.tenantAtWork(tenant);
          if (found?.suspended !== true) continue;
          const turns = atWork
            .of(tenant)
            .map(({ sessionId, executionId }) =>
              sessions.cancel(found.scope, sessionId, 'operator', executionId),
            );
          await Promise.all(turns);
        }
      };
      cancel().catch((error: unknown) => report('cancelling the turns of a suspended tenant', error));
    },
  };
}

function failedTurn({ tenant_id: tenantId, id: executionId, ...row }: ExecutionRow): FailedTurn {
  const { agent_id: agentId, trigger_id: triggerId, error } = row;
  return { tenantId, executionId, agentId, triggerId, code: error?.code ?? 'internal_error' };
}

async function olderMessages(
  store: Store,
  scope: TenantScope,
  sessionId: string,
  before: number,
  limit: number,
): Promise<readonly MessageRow[]> {
  const { rows } = await store.inTenant(scope, (tx) =>
    listMessagesBefore(scope, tx, sessionId, before, limit),
  );
  return rows.toReversed().map((row) => ({
    ...row,
    tenant_id: scope.tenantId,
    session_id: sessionId,
    created_at: row.created_at.toISOString(),
  }));
}
