/** What a turn begins with: its message, the agent's memory, and the values that its tools may read. */
import { toolContext } from '../invocation/index.js';
import { memorySettings, windowOf, type TurnStart } from '../turns/index.js';
import { decisionsOn } from './approvals.js';
import { type LiveTurn, scalars } from './live-turn.js';
import type { SessionActorParts, Tenant } from './parts.js';
import type { MessageRow } from './rows.js';
import type { SessionState } from './session-state.js';
import { transcript } from './transcript.js';

export async function turnStart(
  state: SessionState,
  parts: SessionActorParts,
  turn: LiveTurn,
  tenant: Tenant,
  agent: TurnStart['agent'],
): Promise<TurnStart> {
  const { row } = turn;
  const declared = row.input.declared_context ?? {};
  const own = newMessage(state, parts, turn, 'user', row.input.message);
  const [message] = transcript([{ ...own, declared_context: declared }]);
  const block = message?.role === 'user' ? message.content.find(({ type }) => type === 'context') : undefined;
  const earlier = await rememberedMessages(state, parts, tenant, turn, agent);
  return {
    ...tenant,
    caller: { keyId: row.key_id, userId: row.user_id },
    executionId: row.id,
    attempt: row.attempts,
    sessionId: row.session_id ?? '',
    triggerId: row.trigger_id,
    agentId: row.agent_id,
    agent,
    depth: 0,
    message: row.input.message,
    contextBlock: block?.type === 'context' ? block.text : undefined,
    toolContext: toolContext(contextOf(parts, turn), turn.bindings ?? {}),
    history: windowOf(transcript(earlier), Number.POSITIVE_INFINITY),
    summary: state.session?.summary ?? undefined,
    facts: await factsFor(state, parts, tenant, agent),
    quickReplies: row.input.quick_replies,
    deadlineMs: row.input.deadline_ms,
    recorded: turn.steps.filter((step) => step !== undefined),
    approvals: decisionsOn(turn, parts),
    waits: row.input.waits ?? [],
  };
}

/** The next message of the session, created by this turn. */
export function newMessage(
  { session }: SessionState,
  { newId, time }: SessionActorParts,
  { row }: LiveTurn,
  role: MessageRow['role'],
  content: string,
): MessageRow {
  return {
    tenant_id: row.tenant_id,
    session_id: row.session_id ?? '',
    number: (session?.last_message ?? 0) + 1,
    id: newId(),
    role,
    author: role === 'user' ? (row.input.author ?? null) : { kind: 'agent', id: row.agent_id },
    content,
    declared_context: null,
    metadata: {},
    execution_id: row.id,
    created_at: new Date(time.wallMs()).toISOString(),
  };
}

function contextOf({ unseal }: SessionActorParts, { context, row }: LiveTurn): TurnStart['toolContext'] {
  if (context !== undefined) return context;
  return row.sealed_input === null ? {} : scalars(unseal(row.sealed_input, row.id));
}

/** Only agents with a memory get the facts that other agents learnt. */
async function factsFor(
  { session }: SessionState,
  { factsOf }: SessionActorParts,
  { scope }: Tenant,
  { snapshot }: TurnStart['agent'],
): Promise<readonly string[]> {
  const consumer = session?.consumer_key ?? null;
  if (consumer === null || memorySettings(snapshot).summarizeAfter === undefined) return [];
  return factsOf(scope, consumer);
}

/** The messages before this turn's own that the agent remembers. */
async function rememberedMessages(
  { tail }: SessionState,
  { olderMessages }: SessionActorParts,
  { scope }: Tenant,
  { row }: LiveTurn,
  { snapshot }: TurnStart['agent'],
): Promise<readonly MessageRow[]> {
  const { remembers, windowMessages: window } = memorySettings(snapshot);
  if (!remembers) return [];
  const own = row.input.message_number ?? Number.POSITIVE_INFINITY;
  const held = tail.filter(({ number }) => number < own);
  const [first] = held;
  if (held.length >= window || first === undefined || first.number === 1) return held.slice(-window);
  const older = await olderMessages(scope, row.session_id ?? '', first.number, window - held.length);
  return [...older, ...held];
}
