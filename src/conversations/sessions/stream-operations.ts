import { z } from 'zod';
import type { TenantCaller } from '../../kernel/caller.js';
import {
  privilegesOf,
  readInvocation,
  turnEventShape,
  turnRequestExample,
  turnRequestShape,
  turnStreamExample,
} from '../invocation/index.js';
import { PlatformError } from '../../kernel/errors.js';
import {
  allows,
  closedHere,
  declare,
  eventStream,
  type Operation,
  type OperationRequest,
  RawReply,
  type StreamReply,
  tenantCaller,
  givenUuid,
} from '../../http/operations/index.js';
import type { ChatTurn, ChatTurns } from './chat-turns.js';
import { joinedMax } from './reader-limits.js';
import type { Sessions } from './sessions.js';

/** The limit of a chat turn; the caller's option can only shorten it. */
const chatDeadlineMs = 150_000;
/** Room for attachments. */
const bodyBytesMax = 20 * 1024 * 1024;
/** What of it may be no attachment. */
const textBytesMax = 4 * 1024 * 1024;

const eventsDescription =
  'Server-sent events, each with `id`, `event` and `data`: `metadata` first, then `status`, `phase`, `tool`, `approval`, ' +
  '`thinking` and `delta` while the text is generated, `response` with the whole text, `metrics`, and `done` with the outcome.';

const contentDescription =
  '`attachments` are up to 10 images and files `{type, url | data, media_type, name}` of at most 5 MB each; with one, ' +
  '`message` may be left out. With `options.response_format` the answer fits a JSON Schema, and `response` carries `parsed`.';

export interface StreamOperationParts {
  readonly sessions: Sessions;
  readonly chats: ChatTurns;
  readonly report: (attempted: string, error: unknown) => void;
}

const stream = {
  events: turnEventShape,
  eventsExample: turnStreamExample,
  headers: ['X-Execution-Id'],
} as const;

const agentParams = z.object({ id: givenUuid });
const executionParams = z.object({ id: givenUuid });
const disconnectQuery = z.object({
  cancel_on_disconnect: z
    .enum(['true', 'false'])
    .optional()
    .describe(
      'Whether closing the connection cancels the turn. Unless `true`, the turn continues, and also when the platform closes it.',
    ),
});

export function streamOperations(parts: StreamOperationParts): readonly Operation[] {
  return [
    declare({
      name: 'agents.stream',
      method: 'POST',
      audit: { exempt: 'turns leave no entry; the execution is their record', entries: 'never' },
      idempotency: 'turn',
      path: '/api/v2/agents/:id/stream',
      title: 'Send a message to an agent and read its turn as events.',
      description: `${eventsDescription} ${contentDescription}`,
      access: tenantCaller('agents:chat'),
      rate: 'model-work',
      dialect: 'invocation',
      params: agentParams,
      query: disconnectQuery,
      body: z.unknown(),
      bodyRules: { maxBytes: bodyBytesMax, textBytesMax, prototypeNames: 'pass' },
      output: turnEventShape,
      contentType: 'text/event-stream',
      shown: { body: turnRequestShape, bodyExample: turnRequestExample, ...stream },
      absent: 'agent_not_found',
      errors: [
        'validation_error',
        'conflict',
        'agent_not_found',
        'chat_disabled',
        'not_found',
        'invalid_model',
        'unsupported_content',
        'payload_too_large',
        'email_unverified',
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
      description:
        `${eventsDescription} \`Last-Event-ID\` is the id of the last event that the client has. After the id of \`done\` ` +
        'the answer is 204: nothing follows, and browsers do not connect again. A conversation has at most ' +
        `${joinedMax} readers that continue streams of its turns; the next is refused with 429.`,
      access: tenantCaller('agents:chat'),
      params: executionParams,
      unknownFields: 'ignore',
      headers: ['last-event-id'],
      output: turnEventShape,
      contentType: 'text/event-stream',
      shown: stream,
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
  const { caller, params, query, body, repeat } = request;
  const turn = await parts.chats.beginOnce(caller, params.id, repeat, {
    invocation: readInvocation(body, privilegesOf(caller)),
    channel: 'chat',
    deadlineMs: chatDeadlineMs,
  });
  return reply(parts, turn, { cancelsAtEnd: query.cancel_on_disconnect === 'true' });
}

type ContinueRequest = OperationRequest<TenantCaller, z.output<typeof executionParams>>;

async function continueTurn(
  parts: StreamOperationParts,
  request: ContinueRequest,
): Promise<StreamReply | RawReply> {
  const { caller, params, headers } = request;
  const execution = await parts.sessions.execution(caller.scope, params.id);
  const isOwn =
    caller.kind === 'key' ? execution.key_id === caller.keyId : execution.user_id === caller.userId;
  // A member may continue the turns that it started. For other turns it gets the same error as for unknown ones.
  if (!isOwn && !allows(caller.role, 'executions:read'))
    throw new PlatformError('not_found', { message: 'The execution was not found.' });
  const after = lastEventId(headers['last-event-id']);
  if (execution.outcome !== null && after > 0) {
    const left = await parts.sessions.stored(caller.scope, execution.id, after);
    // An ended stream without its `done` would be continued again; this status ends it for good.
    if (left?.[Symbol.iterator]().next().done === true) return nothingLeft(execution.id);
  }
  return reply(parts, parts.chats.follow(caller, execution, after), { isHead: request.isHead });
}

function nothingLeft(executionId: string): RawReply {
  return new RawReply('text/event-stream; charset=utf-8', '', {
    status: 204,
    headers: { 'Cache-Control': 'no-cache, no-transform', 'X-Execution-Id': executionId },
  });
}

/** An invalid Last-Event-ID restarts the stream. */
function lastEventId(header: string | undefined): number {
  const id = Number(header ?? 0);
  return Number.isSafeInteger(id) && id > 0 ? id : 0;
}

async function reply(
  { report }: StreamOperationParts,
  turn: ChatTurn,
  { isHead, cancelsAtEnd }: { readonly isHead?: boolean | undefined; readonly cancelsAtEnd?: boolean },
): Promise<StreamReply> {
  const entered = isHead === true ? undefined : await turn.enter();
  return eventStream(
    async (writer) => {
      const sent = await entered?.sendTo(writer);
      const { aborted, reason } = writer.gone;
      const hasLeft = aborted && reason !== closedHere;
      if (sent?.isDone === true || cancelsAtEnd !== true || !hasLeft) return;
      await turn
        .cancel()
        .catch((error: unknown) => report('cancelling the turn of a client that disconnected', error));
    },
    { 'X-Execution-Id': turn.executionId },
  );
}
