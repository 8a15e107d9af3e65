import { z } from 'zod';
import type { Time } from '../../../cluster/index.js';
import type { RunnableAgent } from '../../agents/index.js';
import { actorOf, type TenantCaller } from '../../kernel/caller.js';
import {
  authorFrom,
  continuesOwnSessionsOnly,
  derivedSessionId,
  type IgnoredField,
  type Invocation,
  privilegesOf,
  readInvocation,
} from '../invocation/index.js';
import { PlatformError } from '../../kernel/errors.js';
import {
  allows,
  declare,
  eventStream,
  type Operation,
  type OperationRequest,
  type StreamReply,
  tenantCaller,
} from '../../http/operations/index.js';
import type { AgentAdmission } from './agent-admission.js';
import { EventPump, type PumpSource } from './event-pump.js';
import type { Sessions, WantedTurn } from './sessions.js';

/** The limit of a chat turn; the caller's option can only shorten it. */
const chatDeadlineMs = 150_000;
const bodyBytesMax = 4 * 1024 * 1024;

const eventsDescription =
  'Server-sent events, each with `id`, `event` and `data`: `metadata` first, then `status`, `phase`, `tool`, ' +
  '`thinking` and `delta` while the text is generated, `response` with the whole text, `metrics`, and `done` with the outcome.';

export interface StreamOperationParts {
  readonly sessions: Sessions;
  readonly admission: AgentAdmission;
  readonly time: Time;
  readonly newId: () => string;
  readonly report: (attempted: string, error: unknown) => void;
}

const agentParams = z.object({ id: z.uuid() });
const executionParams = z.object({ id: z.uuid() });
const disconnectQuery = z.object({
  cancel_on_disconnect: z
    .enum(['true', 'false'])
    .optional()
    .describe('Whether closing the connection cancels the turn. Unless `true`, the turn continues.'),
});

export function streamOperations(parts: StreamOperationParts): readonly Operation[] {
  return [
    declare({
      name: 'agents.stream',
      method: 'POST',
      path: '/api/v2/agents/:id/stream',
      title: 'Send a message to an agent and read its turn as events.',
      description: eventsDescription,
      access: tenantCaller('agents:chat'),
      rate: 'model-work',
      dialect: 'invocation',
      params: agentParams,
      query: disconnectQuery,
      body: z.unknown(),
      bodyRules: { maxBytes: bodyBytesMax, prototypeNames: 'pass' },
      output: z.unknown(),
      contentType: 'text/event-stream',
      absent: 'agent_not_found',
      errors: [
        'validation_error',
        'conflict',
        'agent_not_found',
        'not_found',
        'invalid_model',
        'MODEL_TIER_RESTRICTED',
        'quota_exceeded',
      ],
      handle: (request) => beginTurn(parts, request),
    }),
    declare({
      name: 'executions.stream',
      method: 'GET',
      path: '/api/v1/executions/:id/stream',
      title: 'Resume reading the events of a turn.',
      description: `${eventsDescription} \`Last-Event-ID\` is the id of the last event that the client has.`,
      access: tenantCaller('agents:chat'),
      params: executionParams,
      unknownFields: 'ignore',
      headers: ['last-event-id'],
      output: z.unknown(),
      contentType: 'text/event-stream',
      errors: ['not_found'],
      handle: (request) => continueTurn(parts, request),
    }),
  ];
}

type BeginRequest = OperationRequest<
  TenantCaller,
  z.output<typeof agentParams>,
  z.output<typeof disconnectQuery>
>;

async function beginTurn(parts: StreamOperationParts, request: BeginRequest): Promise<StreamReply> {
  const { sessions, admission, newId } = parts;
  const { caller, params, query, body } = request;
  const invocation = readInvocation(body, privilegesOf(caller));
  const agent = await admission.admit(caller, params.id);
  const { acceptedFields, ignoredFields } = fieldsAt(agent, invocation);
  const sessionId = sessionOf(invocation, agent.id) ?? newId();
  const executionId = newId();
  const wanted: WantedTurn = {
    scope: caller.scope,
    sessionId,
    mustExist: invocation.sessionId !== undefined,
    ownSessionsOnly: continuesOwnSessionsOnly(caller),
    agentId: agent.id,
    executionId,
    channel: 'chat',
    consumerKey: invocation.consumerKey,
    consumerDisplayName: invocation.consumerDisplayName,
    nameInferred: false,
    input: {
      message: invocation.message,
      author:
        invocation.consumerKey === undefined
          ? authorFrom(caller)
          : { kind: 'consumer', id: invocation.consumerKey },
      declared_context: invocation.declaredContext,
      accepted_fields: acceptedFields,
      ignored_fields: ignoredFields,
      quick_replies: invocation.capabilities.quickReplies,
      role: caller.role,
    },
    context: invocation.context,
    bindings: invocation.bindings,
    metadata: invocation.metadata,
    keyId: caller.kind === 'key' ? caller.keyId : null,
    userId: caller.kind === 'key' ? null : caller.userId,
    triggerId: undefined,
    deadlineMs: Math.min(chatDeadlineMs, invocation.timeoutMs ?? chatDeadlineMs),
  };
  const follower = newId();
  const events = await sessions.begin(wanted, follower);
  const turn: FollowedTurn = { caller, sessionId, executionId, follower, after: 0 };
  return reply(parts, turn, events, query.cancel_on_disconnect === 'true');
}

/** Capabilities have no effect with an agent that suggests no replies. */
function fieldsAt(
  { snapshot }: RunnableAgent,
  { acceptedFields, ignoredFields, capabilities }: Invocation,
): Pick<Invocation, 'acceptedFields' | 'ignoredFields'> {
  if (snapshot.quick_replies_enabled || !capabilities.quickReplies) return { acceptedFields, ignoredFields };
  const inVain: IgnoredField = { field: 'capabilities.blocks.quick_replies', reason: 'not_supported' };
  return {
    acceptedFields: acceptedFields.filter((field) => field !== 'capabilities'),
    ignoredFields: [...ignoredFields, inVain],
  };
}

function sessionOf({ sessionId, derivedFrom }: Invocation, agentId: string): string | undefined {
  return sessionId ?? (derivedFrom === undefined ? undefined : derivedSessionId(agentId, derivedFrom));
}

type ContinueRequest = OperationRequest<TenantCaller, z.output<typeof executionParams>>;

async function continueTurn(parts: StreamOperationParts, request: ContinueRequest): Promise<StreamReply> {
  const { sessions, newId } = parts;
  const { caller, params, headers } = request;
  const execution = await sessions.execution(caller.scope, params.id);
  const isOwn =
    caller.kind === 'key' ? execution.key_id === caller.keyId : execution.user_id === caller.userId;
  // A member may continue the turns that it started. For other turns it gets the same error as for unknown ones.
  if (!isOwn && !allows(caller.role, 'executions:read'))
    throw new PlatformError('not_found', { message: 'The execution was not found.' });
  const follower = newId();
  const after = lastEventId(headers['last-event-id']);
  const sessionId = execution.session_id ?? '';
  const events =
    execution.outcome === null
      ? sessions.follow(caller.scope, sessionId, execution.id, after, follower)
      : finished();
  return reply(parts, { caller, sessionId, executionId: execution.id, follower, after }, events, false);
}

/** An invalid Last-Event-ID restarts the stream. */
function lastEventId(header: string | undefined): number {
  const id = Number(header ?? 0);
  return Number.isSafeInteger(id) && id > 0 ? id : 0;
}

/** The answer of an owner that no longer has the turn in memory: the store has the rest. */
async function* finished() {
  yield { events: [], deadlineInMs: 0, barrier: 0, elsewhere: true };
  return undefined;
}

interface FollowedTurn {
  readonly caller: TenantCaller;
  readonly sessionId: string;
  readonly executionId: string;
  readonly follower: string;
  readonly after: number;
}

function reply(
  { sessions, time, report }: StreamOperationParts,
  { caller, sessionId, executionId, follower, after }: FollowedTurn,
  events: PumpSource['events'],
  cancelsAtEnd: boolean,
): StreamReply {
  const { scope } = caller;
  return eventStream(
    async (writer) => {
      const pump = new EventPump(writer, time, after);
      await pump.run({
        events,
        confirmDropped: (barrier) => sessions.passed(scope, sessionId, follower, barrier),
        stored: (last) => sessions.stored(scope, executionId, last),
      });
      if (pump.isDone || !cancelsAtEnd || !writer.gone.aborted) return;
      await sessions
        .cancel(scope, sessionId, actorOf(caller), executionId)
        .catch((error: unknown) => report('cancelling the turn of a client that disconnected', error));
    },
    { 'X-Execution-Id': executionId },
  );
}
