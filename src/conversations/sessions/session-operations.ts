import { z } from 'zod';
import type { Time } from '../../../cluster/index.js';
import { actorOf, type TenantCaller } from '../../kernel/caller.js';
import type { LeaveSignal } from '../../kernel/leave-signal.js';
import {
  authorFrom,
  consumerKeyCharactersMax,
  type FlatObject,
  ignoredFieldShape,
  IgnoredFields,
  privilegesOf,
  readMetadata,
  turnEventShape,
} from '../invocation/index.js';
import {
  boundsOf,
  declare,
  done,
  doneShape,
  eventStream,
  named,
  one,
  oneShape,
  type Operation,
  pageAsked,
  pageFound,
  pageOf,
  pageQuery,
  pageShape,
  queryFlag,
  rangeQuery,
  tenantCaller,
  validate,
  givenGuid,
  givenUuid,
} from '../../http/operations/index.js';
import type { Store } from '../../infra/storage/index.js';
import type { AgentAdmission } from './agent-admission.js';
import {
  controlAnswer,
  controlShape,
  cursorOfSession,
  messageAnswer,
  messageShape,
  previewedAnswer,
  previewedSessionShape,
  sessionAnswer,
  sessionShape,
} from './responses.js';
import { monitor } from './session-monitor.js';
import { numberAfter, numberCursor } from './pages.js';
import { watchersMax } from './reader-limits.js';
import { findSession, listMessages, listMessagesBefore, listSessions } from './reads.store.js';
import type { SessionChanges } from './session-changes.js';
import { serveSessionChanges } from './session-changes-stream.js';
import { lastMessages } from './session-previews.store.js';
import type { Sessions } from './sessions.js';

const sessionParams = z.object({ id: givenUuid });
const expiresMax = 604_800;
const channelCharactersMax = 64;
const searchCharactersMax = 200;

const controlBody = z
  .object({
    reason: z.string().max(1_000).nullish(),
    expires_in_seconds: z.int().min(1).max(expiresMax).nullish(),
  })
  .nullish();

const newSessionBody = z.object({
  agent_id: givenGuid,
  consumer_key: z.unknown().optional(),
  metadata: z.unknown().optional(),
});

/** As the documents show it: what a caller may not set is ignored, so it is read by hand. */
const shownSessionBody = named(
  'NewSession',
  z.object({
    agent_id: givenGuid,
    consumer_key: z.string().max(consumerKeyCharactersMax).nullish(),
    metadata: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).nullish(),
  }),
);

const consumerKeyShape = z.object({
  consumer_key: z.string().regex(/\S/, { error: 'must not be empty' }).max(consumerKeyCharactersMax),
});

export interface SessionOperationParts {
  readonly sessions: Sessions;
  readonly store: Store;
  readonly admission: AgentAdmission;
  readonly time: Time;
  readonly changes: SessionChanges;
  /** Aborts when the node is stopping. */
  readonly stopping: LeaveSignal;
}

export function sessionOperations(parts: SessionOperationParts): readonly Operation[] {
  const { sessions, store, admission, time, changes, stopping } = parts;
  return [
    declare({
      name: 'sessions.create',
      method: 'POST',
      audit: 'sessions.create',
      idempotency: 'ids',
      path: '/api/sessions',
      title: 'Start a conversation with an agent.',
      description:
        'A `consumer_key` takes effect only with an API key of an owner or admin; otherwise it is ignored and listed in `ignored_fields`.',
      access: tenantCaller('sessions:create'),
      body: newSessionBody,
      shown: { body: shownSessionBody },
      status: 201,
      output: oneShape(
        z.object({
          session_id: z.uuid(),
          agent_id: z.guid(),
          control_mode: z.enum(['engaged', 'manual_handoff']),
          created_at: z.iso.datetime(),
          ignored_fields: z.array(ignoredFieldShape).optional(),
        }),
      ),
      errors: ['agent_not_found', 'validation_error'],
      async handle({ caller, body, repeat }) {
        const ignored = new IgnoredFields();
        const consumerKey = readConsumerKey(caller, body.consumer_key, ignored);
        const metadata = readSessionMetadata(body.metadata, ignored);
        const agent = await admission.agentFor(caller, body.agent_id);
        const session = await sessions.open(caller, {
          id: repeat?.seed,
          agentId: agent.id,
          consumerKey,
          metadata,
          channel: 'chat',
          startedBy: consumerKey === undefined ? authorFrom(caller) : { kind: 'consumer', id: consumerKey },
        });
        return one({
          session_id: session.id,
          agent_id: session.agentId,
          control_mode: session.control.mode,
          created_at: session.createdAt.toISOString(),
          ...(ignored.list().length === 0 ? {} : { ignored_fields: [...ignored.list()] }),
        });
      },
    }),
    declare({
      name: 'sessions.list',
      method: 'GET',
      path: '/api/v1/sessions',
      title: 'List the conversations of the tenant, latest first.',
      description:
        '`start_date` and `end_date` bound the last interaction. `search` finds conversations with a message that has all these words.',
      access: tenantCaller('sessions:read'),
      query: pageQuery.extend({
        control_mode: z.enum(['engaged', 'manual_handoff']).optional(),
        consumer_key: z.string().min(1).max(consumerKeyCharactersMax).optional(),
        agent_id: givenGuid.optional(),
        channel: z.string().min(1).max(channelCharactersMax).optional(),
        ended: queryFlag.optional(),
        awaiting_approval: queryFlag.optional(),
        search: z.string().trim().min(1).max(searchCharactersMax).optional(),
        preview: queryFlag
          .optional()
          .describe('Whether each session comes with the beginning of its last message.'),
        ...rangeQuery.shape,
      }),
      output: pageShape(previewedSessionShape),
      async handle({ caller, query }) {
        const page = pageAsked(query);
        return store.inTenant(caller.scope, async (tx) => {
          const rows = await listSessions(caller.scope, tx, {
            ...page,
            controlMode: query.control_mode,
            consumerKey: query.consumer_key,
            agentId: query.agent_id,
            channel: query.channel,
            ended: query.ended,
            awaitsApproval: query.awaiting_approval,
            search: query.search,
            ...boundsOf(query),
          });
          if (query.preview !== true) return pageOf(rows, page.limit, sessionAnswer, cursorOfSession);
          const ids = rows.map(({ id }) => id);
          const last = await lastMessages(tx, ids);
          return pageOf(rows, page.limit, (row) => previewedAnswer(row, last.get(row.id)), cursorOfSession);
        });
      },
    }),
    declare({
      name: 'sessions.changes',
      method: 'GET',
      path: '/api/v1/realtime/sessions',
      title: 'Watch the list of conversations.',
      description:
        'Server-sent events. `sessions_changed {sessions}`: conversations as `GET /api/v1/sessions?preview=true` lists them, ' +
        'within about a second after a message or the end of a turn. `sessions_cut`: too many changed at once; list them ' +
        'again. Changes of the control mode and approvals come by `GET /api/v1/realtime/events`. After a reconnection, ' +
        'list again: this stream has no past.',
      access: tenantCaller('sessions:read'),
      output: z.unknown(),
      contentType: 'text/event-stream',
      errors: ['rate_limit_exceeded'],
      handle: ({ caller: { scope } }) => {
        changes.admit(scope);
        return eventStream((writer) => serveSessionChanges(changes, scope, writer, time));
      },
    }),
    declare({
      name: 'sessions.get',
      method: 'GET',
      path: '/api/v1/sessions/:id',
      title: 'Get one conversation.',
      access: tenantCaller('sessions:read'),
      params: sessionParams,
      output: oneShape(sessionShape),
      errors: ['not_found'],
      handle: async ({ caller, params }) =>
        one(sessionAnswer(await sessions.session(caller.scope, params.id))),
    }),
    declare({
      name: 'sessions.messages',
      method: 'GET',
      path: '/api/v1/sessions/:id/messages',
      title: 'List the messages of a conversation, oldest first.',
      description:
        'With `order=desc` the newest come first. A page of long messages may have fewer than `limit`; `next_cursor` says whether there are more.',
      access: tenantCaller('sessions:read'),
      params: sessionParams,
      query: pageQuery.extend({ order: z.enum(['asc', 'desc']).optional() }),
      output: pageShape(messageShape),
      errors: ['not_found'],
      async handle({ caller, params, query }) {
        const { limit } = pageAsked({ limit: query.limit });
        const after = numberAfter(query.cursor);
        await sessions.session(caller.scope, params.id);
        const found = await store.inTenant(caller.scope, (tx) => {
          if (query.order !== 'desc') return listMessages(caller.scope, tx, params.id, after, limit);
          const before = query.cursor === undefined ? Number.MAX_SAFE_INTEGER : after;
          return listMessagesBefore(caller.scope, tx, params.id, before, limit);
        });
        return pageFound(found, messageAnswer, ({ number }) => numberCursor(number));
      },
    }),
    declare({
      name: 'sessions.erase',
      method: 'DELETE',
      audit: 'sessions.erase',
      path: '/api/v1/sessions/:id',
      title: 'Delete a conversation with all its messages and executions permanently.',
      access: tenantCaller('sessions:delete'),
      params: sessionParams,
      output: doneShape,
      errors: ['not_found'],
      async handle({ caller, params }) {
        await sessions.erase(caller, params.id);
        return done('The session was deleted.');
      },
    }),
    ...(['suspend', 'handoff', 'resume'] as const).map((verb) => controlOperation(parts, verb)),
    declare({
      name: 'sessions.cancel',
      method: 'POST',
      audit: 'sessions.cancel',
      idempotency: { exempt: 'a repeat finds no turn, or the next one as a request without a key would' },
      path: '/api/v1/sessions/:id/cancel',
      title: 'Cancel the running turn, or the one that is named.',
      description: 'A turn that waits in the queue ends at once.',
      access: tenantCaller('sessions:cancel'),
      params: sessionParams,
      body: z.object({ execution_id: givenGuid.nullish() }).nullish(),
      output: oneShape(z.object({ cancelled: z.boolean(), execution_id: z.uuid().optional() })),
      errors: ['not_found'],
      async handle({ caller, params, body }) {
        const { scope } = caller;
        await sessions.session(scope, params.id);
        const named = body?.execution_id ?? undefined;
        const executionId = await sessions.cancel(scope, params.id, actorOf(caller), named);
        return one(
          executionId === undefined ? { cancelled: false } : { cancelled: true, execution_id: executionId },
        );
      },
    }),
    declare({
      name: 'sessions.monitor',
      method: 'GET',
      path: '/api/v1/sessions/:id/stream',
      title: 'Watch a conversation live.',
      description:
        'The events of its turns, each with its `execution_id`. The stream ends after five minutes, or with the session. ' +
        `A conversation has at most ${watchersMax} such readers; the next is refused with 429.`,
      access: tenantCaller('sessions:read'),
      params: sessionParams,
      output: turnEventShape,
      contentType: 'text/event-stream',
      shown: { events: turnEventShape },
      errors: ['not_found'],
      async handle({ caller, params, isHead }) {
        const { scope } = caller;
        await sessions.session(scope, params.id);
        const events = isHead === true ? undefined : sessions.watch(scope, params.id);
        await events?.opened();
        return eventStream(async (writer) => {
          if (events === undefined) return;
          const hasEnded = async (): Promise<boolean> => {
            const session = await store.inTenant(scope, (tx) => findSession(scope, tx, params.id));
            return session === null || session.ended_at !== null;
          };
          await monitor({ events, hasEnded }, writer, time, stopping);
        });
      },
    }),
  ];
}

const titles = {
  suspend: 'Pause the agent in a conversation.',
  handoff: 'Hand a conversation to a person.',
  resume: 'Return a conversation to the agent.',
} as const;

function controlOperation({ sessions }: SessionOperationParts, verb: keyof typeof titles): Operation {
  return declare({
    name: `sessions.${verb}`,
    method: 'POST',
    audit: `sessions.${verb}`,
    sets: { control_mode: verb === 'resume' ? 'engaged' : 'manual_handoff' },
    idempotency: { exempt: 'a repeat sets the same state' },
    path: `/api/v1/sessions/:id/${verb}`,
    title: titles[verb],
    description:
      'The response is sent once the change is durable and no output of a running turn can reach the client any more.' +
      (verb === 'resume'
        ? ''
        : ' A turn that runs, or waits for an approval, ends as `SUSPENDED`, and its approvals are void.'),
    access: tenantCaller('sessions:control'),
    params: sessionParams,
    body: controlBody,
    shown: { bodyExample: { reason: 'A person answers.', expires_in_seconds: 3_600 } },
    output: oneShape(controlShape),
    errors: ['not_found', 'validation_error'],
    async handle({ caller, params, body }) {
      const changed = await sessions.control(caller, params.id, {
        kind: verb === 'resume' ? 'engaged' : verb,
        reason: body?.reason ?? undefined,
        expiresInSeconds: verb === 'resume' ? undefined : (body?.expires_in_seconds ?? undefined),
      });
      return one(controlAnswer(changed));
    },
  });
}

/** Only an integration may set it. From other callers it is ignored and not validated. */
function readConsumerKey(caller: TenantCaller, value: unknown, ignored: IgnoredFields): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (privilegesOf(caller).integration) {
    return (validate(consumerKeyShape, { consumer_key: value }) as z.output<typeof consumerKeyShape>)
      .consumer_key;
  }
  ignored.add('consumer_key', 'requires_admin_api_key');
  return undefined;
}

/** The limits are those of a turn's metadata; the error code is that of endpoints other than invocation. */
function readSessionMetadata(value: unknown, ignored: IgnoredFields): FlatObject {
  if (value === undefined || value === null) return {};
  return readMetadata(value, ignored).metadata;
}
