/** What a turn begins with: its message, the agent's memory, and the values that its tools may read. */
import { sleep } from '../../../cluster/index.js';
import { StoreError } from '../../infra/storage/index.js';
import type { AttachmentRef } from '../attachments/index.js';
import { consumersOf, toolContext } from '../invocation/index.js';
import { schemaFormatOf } from '../../models/response-format/index.js';
import { memorySettings, windowOf, type TurnStart } from '../turns/index.js';
import { decisionsOn } from './approvals.js';
import { type LiveTurn, scalars } from './live-turn.js';
import type { SessionActorParts, Tenant } from './parts.js';
import type { MessageRow } from './rows.js';
import { change, type SessionState } from './session-state.js';
import { shownParts, transcript } from './transcript.js';
import { lookAgainMs } from './turn-queue.js';

/** The pause after the store had no capacity or was unreachable. */
const readAgainMs = 500;

/** The turn as it is once this process has claimed it. */
export function markClaimed(
  turn: LiveTurn,
  { version, snapshot }: TurnStart['agent'],
  { process, nowMs }: { readonly process: string; readonly nowMs: number },
): void {
  const { attempts, started_at: startedAt, input } = turn.row;
  const holdsText = snapshot.llm_config.response_format !== undefined;
  change(turn, {
    status: 'running',
    attempts: attempts + 1,
    worker: process,
    agent_version: version,
    started_at: startedAt ?? new Date(nowMs).toISOString(),
    due_at: new Date(nowMs + input.deadline_ms + lookAgainMs).toISOString(),
    ...(holdsText && { input: { ...input, holds_text: true } }),
  });
  turn.isClaimed = true;
}

export interface ClaimedTurn {
  readonly turn: LiveTurn;
  readonly tenant: Tenant;
  readonly agent: TurnStart['agent'];
  readonly claimed: Promise<void>;
}

/**
 * A store that refuses for a moment is asked again until the turn's deadline: each new claim would count as a process that
 * ended, and three of them end the turn.
 */
export async function turnStart(
  state: SessionState,
  parts: SessionActorParts,
  { turn, tenant, agent, claimed }: ClaimedTurn,
): Promise<TurnStart> {
  const { signal } = turn.abort;
  for (;;) {
    try {
      return await readStart(state, parts, turn, tenant, agent);
    } catch (error) {
      // Before its claim the turn has no deadline, and another process may own it.
      await claimed;
      const leftMs = (turn.deadlineAtMs ?? 0) - parts.time.monotonicMs();
      const mayBeRead = error instanceof StoreError && error.retryable && leftMs > 0;
      if (!mayBeRead || turn.finished || signal.aborted) throw error;
      parts.report('reading what a turn begins with', error);
      await sleep(parts.time, readAgainMs, signal);
    }
  }
}

async function readStart(
  state: SessionState,
  parts: SessionActorParts,
  turn: LiveTurn,
  tenant: Tenant,
  agent: TurnStart['agent'],
): Promise<TurnStart> {
  const { row } = turn;
  const declared = row.input.declared_context ?? {};
  const own = newMessage(state, parts, turn, 'user', row.input.message);
  const hasSeveral = state.session?.has_several ?? false;
  const bare = { ...own, attachments: [], declared_context: declared };
  const [message] = transcript([bare], new Map(), hasSeveral);
  const block = message?.role === 'user' ? message.content.find(({ type }) => type === 'context') : undefined;
  const earlier = await rememberedMessages(state, parts, tenant, turn, agent);
  const attachments = row.input.attachments ?? [];
  const shown = [...attachments, ...shownEarlier(earlier, bytesOf(attachments))];
  const contents = shown.length === 0 ? new Map() : await parts.attachmentContents(tenant.scope, shown);
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
    attachments: shownParts(attachments, contents),
    responseFormat: formatOf(row.input),
    contextBlock: block?.type === 'context' ? block.text : undefined,
    toolContext: toolContext(contextOf(parts, turn), turn.bindings ?? {}),
    history: windowOf(transcript(earlier, contents, hasSeveral), Number.POSITIVE_INFINITY),
    summary: state.session?.summary ?? undefined,
    facts: await factsFor(state, parts, turn, tenant, agent),
    quickReplies: row.input.quick_replies,
    deadlineMs: row.input.deadline_ms,
    recorded: turn.steps.filter((step) => step !== undefined),
    approvals: decisionsOn(turn, parts),
    waits: row.input.waits ?? [],
    traceparent: row.input.traceparent,
  };
}

/** Vendors take requests of 20 to 50 megabytes in base64. */
const shownBytesMax = 12 * 1024 * 1024;

/** The newest attachments of earlier messages, as many as fit beside those of this message. */
function shownEarlier(earlier: readonly MessageRow[], ownBytes: number): readonly AttachmentRef[] {
  const shown: AttachmentRef[] = [];
  let bytes = ownBytes;
  for (const { attachments } of earlier.toReversed()) {
    bytes += bytesOf(attachments);
    if (bytes > shownBytesMax) break;
    for (const ref of attachments) shown.push(ref);
  }
  return shown;
}

function bytesOf(attachments: readonly AttachmentRef[]): number {
  return attachments.reduce((sum, { bytes }) => sum + bytes, 0);
}

function formatOf({ response_format: given }: LiveTurn['row']['input']): TurnStart['responseFormat'] {
  return given === undefined ? undefined : schemaFormatOf(given);
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
    attachments: [],
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
  { row }: LiveTurn,
  { scope }: Tenant,
  { snapshot }: TurnStart['agent'],
): Promise<readonly string[]> {
  const [author, ...others] = consumersOf(row.input.author);
  const consumer = session?.has_several === true ? author : (session?.consumer_key ?? undefined);
  // What is known of one of several people is not told to all of them.
  if (consumer === undefined || others.length > 0 || memorySettings(snapshot).summarizeAfter === undefined)
    return [];
  return factsOf(scope, consumer);
}

/** The messages before this turn's own that the agent remembers. */
async function rememberedMessages(
  { tail, session }: SessionState,
  { olderMessages }: SessionActorParts,
  { scope }: Tenant,
  { row }: LiveTurn,
  { snapshot }: TurnStart['agent'],
): Promise<readonly MessageRow[]> {
  const { remembers, windowMessages: window } = memorySettings(snapshot);
  if (!remembers) return [];
  const own = row.input.message_number ?? (session?.last_message ?? 0) + 1;
  const held = tail.filter(({ number }) => number < own);
  // A long message leaves no room for others in memory, so that none before it may be held.
  const before = held[0]?.number ?? own;
  if (held.length >= window || before === 1) return held.slice(-window);
  const older = await olderMessages(scope, row.session_id ?? '', before, window - held.length);
  return [...older, ...held];
}
