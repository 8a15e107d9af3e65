import { z } from 'zod';
import { keyOfVisitor, type VisitorCaller } from '../../kernel/caller.js';
import { PlatformError } from '../../kernel/errors.js';
import {
  declare,
  done,
  doneShape,
  eventStream,
  list,
  named,
  nextCursorOf,
  one,
  oneShape,
  type Operation,
  type OperationRequest,
  pageAsked,
  pageQuery,
  pageShape,
  type StreamReply,
  visitor,
  givenUuid,
} from '../../http/operations/index.js';
import type { Store } from '../../infra/storage/index.js';
import { readInvocation, webChannel } from '../invocation/index.js';
import {
  type AgentAdmission,
  type ChatTurn,
  type ChatTurns,
  listMessagesBefore,
  numberAfter,
  numberCursor,
  type Sessions,
} from '../sessions/index.js';
import { consumerKeyOf, ownExecution, ownSession, requireAgent } from './visitor.js';
import { visitorEventShape, visitorWriter } from './visitor-events.js';

export interface VisitorOperationParts {
  readonly store: Store;
  readonly sessions: Sessions;
  readonly chats: ChatTurns;
  readonly admission: AgentAdmission;
  readonly newSecret: () => string;
}

const base = '/api/v1/chat/:publicKey';
/** The limit of a chat turn. */
const chatDeadlineMs = 150_000;
/** Far more than anybody types; a visitor is unknown, and the tenant pays for each token. */
const messageCharactersMax = 8_000;
/** All that a visitor may say about a turn. */
const visitorFields: ReadonlySet<string> = new Set(['message', 'session_id', 'capabilities']);

const keyParams = z.object({ publicKey: z.string() });
const idParams = keyParams.extend({ id: givenUuid });

const newVisitor = named(
  'NewVisitor',
  z.object({
    secret: z.string().describe('For `X-Visitor-Secret`. Who has it reads and continues the conversations.'),
    agents: z.array(z.object({ id: z.uuid(), name: z.string() })),
  }),
);

const newMessage = named(
  'VisitorMessage',
  z.object({
    message: z.string().max(messageCharactersMax),
    session_id: givenUuid.optional(),
    capabilities: z.object({ blocks: z.array(z.string().max(100)).max(10) }).optional(),
  }),
);

const visitorMessage = named(
  'VisitorConversationMessage',
  z.object({
    id: z.uuid(),
    from: z.enum(['visitor', 'agent', 'person']).describe('`person`: a member of the tenant who took over.'),
    content: z.string(),
    execution_id: z.uuid().nullable(),
    created_at: z.iso.datetime(),
  }),
);

const streamShown = {
  events: visitorEventShape,
  headers: ['X-Execution-Id'],
} as const;

/** The chat of a page. Everybody can read the page's key, so each operation is bound to what one visitor owns. */
export function visitorOperations(parts: VisitorOperationParts): readonly Operation[] {
  return [
    createVisitor(parts),
    beginTurn(parts),
    continueTurn(parts),
    cancelTurn(parts),
    listVisitorMessages(parts),
  ];
}

function createVisitor({ admission, newSecret }: VisitorOperationParts): Operation {
  return declare({
    name: 'visitors.create',
    method: 'POST',
    audit: { exempt: 'nothing is stored; the first message makes the consumer' },
    path: `${base}/visitors`,
    title: 'Make the secret of a new visitor of a page.',
    description: 'Also tells the agents of the public key that the visitor may chat with now.',
    access: visitor(),
    params: keyParams,
    output: oneShape(newVisitor),
    async handle({ caller }) {
      const key = keyOfVisitor(caller);
      const agents = await Promise.all(
        [...caller.agentIds].map((id) => admission.agentFor(key, id).catch(withoutRefused)),
      );
      const shown = agents.filter((agent) => agent !== undefined);
      return one({
        secret: newSecret(),
        agents: shown.map(({ id, snapshot }) => ({ id, name: snapshot.name })),
      });
    },
  });
}

/** An agent that is not published, or not for everybody, is left out. */
function withoutRefused(error: unknown): undefined {
  if (error instanceof PlatformError && error.status < 500) return undefined;
  throw error;
}

function beginTurn({ chats }: VisitorOperationParts): Operation {
  return declare({
    name: 'visitors.stream',
    method: 'POST',
    audit: { exempt: 'turns leave no entry; the execution is their record' },
    idempotency: 'turn',
    path: `${base}/agents/:id/stream`,
    title: "Send a visitor's message to an agent and read its turn as events.",
    description:
      'Server-sent events: `metadata`, `status`, `delta` while the text is generated, `response` with the whole text, and ' +
      '`done`. Without `session_id` a conversation begins.',
    access: visitor(),
    rate: 'model-work',
    params: idParams,
    body: newMessage,
    output: visitorEventShape,
    contentType: 'text/event-stream',
    shown: { bodyExample: { message: 'Where is my order?' }, ...streamShown },
    absent: 'agent_not_found',
    errors: [
      'agent_not_found',
      'chat_disabled',
      'not_found',
      'conflict',
      'invalid_model',
      'email_unverified',
      'MODEL_TIER_RESTRICTED',
      'quota_exceeded',
    ],
    async handle({ caller, params, body, repeat }) {
      const consumerKey = consumerKeyOf(caller);
      requireAgent(caller, params.id);
      const invocation = readInvocation(body, { integration: false }, visitorFields);
      const turn = await chats.beginOnce(keyOfVisitor(caller), params.id, repeat, {
        invocation: { ...invocation, consumerKey },
        channel: webChannel,
        deadlineMs: chatDeadlineMs,
      });
      return eventsOf(turn);
    },
  });
}

function continueTurn({ sessions, chats }: VisitorOperationParts): Operation {
  return declare({
    name: 'visitors.continue',
    method: 'GET',
    path: `${base}/executions/:id/stream`,
    title: "Resume reading the events of a visitor's turn.",
    description: '`Last-Event-ID` is the id of the last event that the page has.',
    access: visitor(),
    params: idParams,
    headers: ['last-event-id'],
    output: visitorEventShape,
    contentType: 'text/event-stream',
    shown: streamShown,
    errors: ['not_found'],
    async handle({ caller, params, headers, isHead }) {
      const execution = await ownExecution(sessions, caller, params.id);
      const after = Number(headers['last-event-id'] ?? 0);
      const isId = Number.isSafeInteger(after) && after > 0;
      return eventsOf(chats.follow(keyOfVisitor(caller), execution, isId ? after : 0), isHead);
    },
  });
}

async function eventsOf(turn: ChatTurn, isHead = false): Promise<StreamReply> {
  const entered = isHead ? undefined : await turn.enter();
  return eventStream(async (writer) => void (await entered?.sendTo(visitorWriter(writer))), {
    'X-Execution-Id': turn.executionId,
  });
}

function cancelTurn({ sessions }: VisitorOperationParts): Operation {
  return declare({
    name: 'visitors.cancel',
    method: 'POST',
    audit: { exempt: 'the execution records that it was cancelled' },
    path: `${base}/executions/:id/cancel`,
    title: "Stop a visitor's turn.",
    access: visitor(),
    params: idParams,
    output: doneShape,
    errors: ['not_found'],
    async handle({ caller, params }) {
      const { id, session_id: sessionId } = await ownExecution(sessions, caller, params.id);
      await sessions.cancel(caller.scope, sessionId, 'visitor', id);
      return done('The turn is cancelled.');
    },
  });
}

type MessagesRequest = OperationRequest<VisitorCaller, z.output<typeof idParams>, z.output<typeof pageQuery>>;

function listVisitorMessages(parts: VisitorOperationParts): Operation {
  return declare({
    name: 'visitors.messages',
    method: 'GET',
    path: `${base}/sessions/:id/messages`,
    title: "List the messages of a visitor's conversation, newest first.",
    access: visitor(),
    params: idParams,
    query: pageQuery,
    output: pageShape(visitorMessage).extend({
      control_mode: z
        .enum(['engaged', 'manual_handoff'])
        .describe('`manual_handoff`: a person answers; ask again for what it wrote.'),
    }),
    errors: ['not_found'],
    handle: (request) => visitorMessages(parts, request),
  });
}

async function visitorMessages(
  { sessions, store }: VisitorOperationParts,
  { caller, params, query }: MessagesRequest,
) {
  const { limit } = pageAsked({ limit: query.limit });
  const before = query.cursor === undefined ? Number.MAX_SAFE_INTEGER : numberAfter(query.cursor);
  const session = await ownSession(sessions, caller, params.id);
  const found = await store.inTenant(caller.scope, (tx) =>
    listMessagesBefore(caller.scope, tx, params.id, before, limit),
  );
  const nextCursor = nextCursorOf(found, ({ number }) => numberCursor(number));
  const data = found.rows.map(({ id, role, author, content, execution_id, created_at }) => {
    const answeredBy = author?.kind === 'user' || author?.kind === 'key' ? 'person' : 'agent';
    const from: 'visitor' | 'person' | 'agent' = role === 'user' ? 'visitor' : answeredBy;
    return { id, from, content, execution_id, created_at: created_at.toISOString() };
  });
  return { ...list(data), next_cursor: nextCursor, control_mode: session.control_mode };
}
