/**
 * Adds a turn to its session's queue: it is checked against the session and durable before the caller gets an
 * answer. The caller fixes the id before the first attempt, so that a turn that is submitted twice is one turn.
 */
import type { ConsumerTouch } from '../consumers/index.js';
import {
  type Author,
  displayNameAfter,
  identityAfter,
  isStarter,
  starterAfter,
} from '../invocation/index.js';
import { PlatformError, tooManyRequests } from '../../kernel/errors.js';
import { hasValues, LiveTurn, metadataOf } from './live-turn.js';
import type { SessionActivation, SessionActorParts } from './parts.js';
import type { RequestedTurn } from './requests.js';
import type { ExecutionRow, ParticipantRow, SessionRow } from './rows.js';
import { charactersOfTurn, type SessionState } from './session-state.js';

const unnamed = { name: undefined, inferred: true };
/** One turn runs and this many wait; the next is refused. */
export const waitingMax = 32;
/** Of the running turn and those that wait. One turn alone may have more. */
const charactersMax = 4_000_000;
/** About as long as a short turn takes. */
const fullQueueMs = 5_000;
/** Recovery checks a row this long after its last sign of life. */
export const lookAgainMs = 60_000;

/** Returns the queued turn, or `elsewhere` if the turn has already ended and left the queue. */
export async function acceptTurn(
  state: SessionState,
  activation: SessionActivation,
  parts: SessionActorParts,
  wanted: RequestedTurn,
  contactName: string | undefined,
): Promise<LiveTurn | 'elsewhere'> {
  const known = state.turn(wanted.executionId);
  if (known !== undefined) {
    known.addUnstoredValues(wanted);
    await known.accepted;
    // It may have ended before this activation began: what is kept here then ends for no reader.
    return known.finished || state.turn(wanted.executionId) === known ? known : 'elsewhere';
  }
  if (state.hasEnded(wanted.executionId)) return 'elsewhere';
  const nowMs = parts.time.wallMs();
  const now = new Date(nowMs).toISOString();
  const before = state.session;
  const { author } = wanted.input;
  const session = sessionAfter(state, activation, { wanted, author, contactName, now });
  if (state.queue.length > waitingMax) {
    const message = `The session already has ${waitingMax} waiting turns, the maximum. Try again later.`;
    throw tooManyRequests(waitingMax, { atMs: nowMs + fullQueueMs, nowMs, message });
  }
  const characters = state.queue.length === 0 ? 0 : state.queueCharacters + charactersOfTurn(wanted.input);
  if (characters > charactersMax) {
    const message = `The waiting turns of the session would have more than ${charactersMax} characters together. Try again later.`;
    throw tooManyRequests(charactersMax, { atMs: nowMs + fullQueueMs, nowMs, message });
  }
  const turn = new LiveTurn(newExecution(wanted, session, activation, parts, now), activation.epoch);
  turn.addUnstoredValues(wanted);
  turn.log.append(metadataOf(turn.row));
  if (state.queue.length > 0) turn.log.append({ type: 'status', state: 'queued' });
  state.session = session;
  state.add(turn);
  const name = { name: wanted.consumerDisplayName, inferred: wanted.nameInferred };
  const touches = [
    ...touchesOf(session, wanted.consumerKey, name, now),
    ...(wanted.input.author?.others ?? []).flatMap((other) => touchesOf(session, other, unnamed, now)),
  ];
  const entering = {
    touches,
    participants: participantsOf(before, session, wanted, now),
    executions: [turn.row],
  };
  const write = changesOnlyCounts(before, session) ? entering : { ...entering, session };
  turn.accepted = activation.writeKnown(write).then(({ finishedBefore }) => {
    // A repeat of a turn that ended before this activation began: its results are in the store.
    if (finishedBefore.has(turn.row.id)) state.drop(turn);
  });
  await turn.accepted;
  return state.turn(turn.row.id) === turn ? turn : 'elsewhere';
}

/**
 * Whether a turn changed only the counts and the last interaction of its session. These are written with the turn's
 * end; until then they follow from the turn's own rows (`countedSession`), so that a session's row is written once
 * per turn.
 */
function changesOnlyCounts(before: SessionRow | undefined, after: SessionRow): boolean {
  return (
    before !== undefined &&
    before.consumer_key === after.consumer_key &&
    before.consumer_display_name === after.consumer_display_name &&
    before.has_several === after.has_several &&
    before.started_by === after.started_by
  );
}

/**
 * Waits for the end of the session's erasure, and reads the name of a consumer whose first turn in this session it
 * is, because a given name applies to every later session. Undefined if there is nothing to wait for, so that the
 * caller continues in the same tick.
 */
export function beforeEntering(
  { session, erasing }: SessionState,
  { address }: SessionActivation,
  { nameOf, tenantAtWork }: SessionActorParts,
  { consumerKey, consumerDisplayName, nameInferred }: Entering,
): Promise<string | undefined> | undefined {
  const isFirst = consumerKey !== undefined && (session?.consumer_key ?? null) === null;
  const wantsName = isFirst && (consumerDisplayName === undefined || nameInferred);
  if (!wantsName && erasing === undefined) return undefined;
  return (async () => {
    await erasing;
    const tenant = wantsName ? await tenantAtWork(address.group) : undefined;
    return tenant === undefined || consumerKey === undefined ? undefined : nameOf(tenant.scope, consumerKey);
  })();
}

type Entering = Pick<RequestedTurn, 'consumerKey' | 'consumerDisplayName' | 'nameInferred'>;

interface Arrival {
  readonly wanted: RequestedTurn;
  readonly author: Author | undefined;
  readonly contactName: string | undefined;
  readonly now: string;
}

/** The session with this turn in its queue. Refuses a session of another agent or another person. */
function sessionAfter(
  { session }: SessionState,
  activation: SessionActivation,
  { wanted, author, contactName, now }: Arrival,
): SessionRow {
  const isForeign = session !== undefined && wanted.ownSessionsOnly && !isStarter(session.started_by, author);
  // Checked first, so that a foreign session looks the same as one that does not exist.
  if (isForeign || (session === undefined && wanted.mustExist))
    throw new PlatformError('not_found', { message: 'The session was not found.' });
  const base = session ?? newSession(activation, { ...wanted, startedBy: author ?? null }, now);
  if (base.agent_id !== wanted.agentId) {
    throw new PlatformError('conflict', {
      message: 'The session belongs to another agent. Leave session_id out to start a new one.',
    });
  }
  const key = identityAfter(base.consumer_key, wanted.consumerKey, wanted.sharesSession);
  const people = peopleOf(wanted);
  // The name of the session's consumer is not changed by the others.
  const name = people.every((one) => one === key) ? wanted.consumerDisplayName : undefined;
  return {
    ...base,
    consumer_key: key,
    has_several: base.has_several || people.some((one) => one !== key),
    consumer_display_name: displayNameAfter(
      base.consumer_display_name ?? contactName ?? null,
      name === undefined ? undefined : { name, source: wanted.nameInferred ? 'inferred' : 'declared' },
    ),
    started_by: starterAfter(base.started_by, author),
    last_arrival: base.last_arrival + 1,
    last_interaction: now,
  };
}

/** The consumers that the turn's message is from. */
function peopleOf({ consumerKey, input }: RequestedTurn): readonly string[] {
  return [...(consumerKey === undefined ? [] : [consumerKey]), ...(input.author?.others ?? [])];
}

/** Once several people write in a session, each is recorded, the first one too. */
function participantsOf(
  before: SessionRow | undefined,
  session: SessionRow,
  wanted: RequestedTurn,
  now: string,
): readonly ParticipantRow[] {
  if (!session.has_several) return [];
  const first = before?.has_several === true || session.consumer_key === null ? [] : [session.consumer_key];
  return [...new Set([...first, ...peopleOf(wanted)])].map((key) => ({
    tenant_id: session.tenant_id,
    session_id: session.id,
    consumer_key: key,
    joined_at: now,
  }));
}

/** Records that a consumer was seen; empty without one. */
export function touchesOf(
  { tenant_id, channel }: SessionRow,
  consumerKey: string | undefined,
  { name, inferred }: { readonly name: string | undefined; readonly inferred: boolean },
  at: string,
): readonly ConsumerTouch[] {
  if (consumerKey === undefined) return [];
  const display_name = name ?? null;
  const declared = display_name !== null && !inferred;
  return [{ tenant_id, consumer_key: consumerKey, display_name, declared, channel, at }];
}

interface NewSession {
  readonly agentId: string;
  readonly channel: string;
  readonly startedBy: Author | null;
}

/** A new session without messages. */
export function newSession(
  { address, slot }: SessionActivation,
  { agentId, channel, startedBy }: NewSession,
  now: string,
): SessionRow {
  return {
    tenant_id: address.group,
    id: address.key,
    agent_id: agentId,
    slot,
    consumer_key: null,
    consumer_display_name: null,
    has_several: false,
    channel,
    started_by: startedBy,
    metadata: {},
    control_mode: 'engaged',
    control_kind: null,
    control_reason: null,
    control_by: null,
    control_since: null,
    control_expires_at: null,
    control_epoch: 0,
    summary: null,
    summary_to: 0,
    last_arrival: 0,
    last_message: 0,
    total_turns: 0,
    created_at: now,
    last_interaction: now,
  };
}

function newExecution(
  wanted: RequestedTurn,
  session: SessionRow,
  { process }: SessionActivation,
  { seal, time }: SessionActorParts,
  now: string,
): ExecutionRow {
  const { input, context, bindings } = wanted;
  return {
    tenant_id: session.tenant_id,
    id: wanted.executionId,
    session_id: session.id,
    agent_id: wanted.agentId,
    agent_version: null,
    trigger_id: wanted.triggerId ?? null,
    slot: session.slot,
    arrival: session.last_arrival,
    channel: wanted.channel,
    key_id: wanted.keyId,
    user_id: wanted.userId,
    status: 'queued',
    outcome: null,
    attempts: 0,
    worker: process,
    due_at: new Date(time.wallMs() + lookAgainMs).toISOString(),
    cancelled_by: null,
    input: { ...input, needs_bindings: hasValues(bindings), deadline_ms: wanted.deadlineMs },
    sealed_input: hasValues(context) ? seal(JSON.stringify(context), wanted.executionId) : null,
    sealed_bindings: null,
    metadata: wanted.metadata,
    output: null,
    blocks: [],
    parsed: null,
    model: null,
    provider: null,
    usage: null,
    cost: 0,
    latency_ms: null,
    first_token_ms: null,
    tool_calls: 0,
    timeout_clock: null,
    error: null,
    created_at: now,
    started_at: null,
    finished_at: null,
  };
}
