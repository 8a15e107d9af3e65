// What must hold of accepted messages and of their answers.
import type { ConversationGuest } from './guest.js';
import { nameOfClaims } from './message-node.js';
import { keyOf } from './session-tables.js';
import type { SentCallback } from './receiver.js';
import type { SentWebhook } from './webhook-load.js';
import type { StoredDelivery } from './delivery-tables.js';
import { attemptsMax } from '../../../src/automation/outbox/retry.js';

/** Checks each callback as it leaves its process. */
export class CheckedCallbacks {
  readonly #guest: ConversationGuest;
  readonly #violations: string[];
  /** The position of the newest answer of each session that left. */
  readonly #newest = new Map<string, number>();
  readonly #isExcused: (process: string) => boolean;
  /** Whether some living process counts on the end of this one. */
  readonly #isGone: (process: string) => boolean;

  constructor(
    guest: ConversationGuest,
    parts: {
      readonly violations: string[];
      readonly isExcused: (process: string) => boolean;
      readonly isGone: (process: string) => boolean;
    },
  ) {
    this.#guest = guest;
    this.#violations = parts.violations;
    this.#isExcused = parts.isExcused;
    this.#isGone = parts.isGone;
  }

  happened({ atMs, process, id, executionId, sessionId, isFailure }: SentCallback): void {
    if (this.#isExcused(process)) return;
    const { inbox, outbox } = this.#guest.messages;
    const what = `${Math.round(atMs)}: callback ${id} of ${sessionId}, sent by ${process},`;
    const row = [...outbox.rows.values()].find(({ put }) => put.executionId === executionId);
    if (row === undefined) {
      this.#violations.push(`${what} is no delivery`);
      return;
    }
    const { inboxSeq } = row.put;
    if (row.status !== 'pending') this.#violations.push(`${what} was ${row.status} already`);
    else if (row.claimedBy !== nameOfClaims(process))
      this.#violations.push(`${what} is claimed by ${row.claimedBy ?? 'nobody'}`);
    if (this.#isGone(process)) this.#violations.push(`${what} left after its process counted as gone`);
    if (!isFailure && this.#guest.silenced.has(sessionId))
      this.#violations.push(`${what} left after a handoff was answered`);
    const newest = this.#newest.get(sessionId) ?? 0;
    if (inboxSeq < newest)
      this.#violations.push(`${what} answers message ${inboxSeq} after one of message ${newest} had left`);
    this.#newest.set(sessionId, Math.max(newest, inboxSeq));
    const isAhead = [...outbox.pending()].some(
      ({ put }) => put.sessionId === sessionId && put.inboxSeq < inboxSeq,
    );
    if (isAhead || inbox.runsBefore(row.tenantId, sessionId, inboxSeq))
      this.#violations.push(`${what} left before an older message of its session was answered`);
  }
}

/** Messages that run and answers that are not sent yet. */
export function unfinishedMessages({ messages }: ConversationGuest): readonly string[] {
  return [
    ...messages.inbox.running().map(({ accepted: { key } }) => `message ${key}`),
    ...messages.outbox.pending().map(({ put: { executionId } }) => `the answer of ${executionId}`),
  ];
}

/** Claims in the name of processes that ended before this time. */
export function claimsOfTheDead(guest: ConversationGuest, beforeMs: number): readonly string[] {
  const { inbox, outbox } = guest.messages;
  const dead = [...guest.deaths]
    .filter(([, diedMs]) => diedMs <= beforeMs)
    .map(([name]) => nameOfClaims(name));
  return [...inbox.holders(), ...outbox.holders()].filter((holder) => dead.includes(holder));
}

export function checkMessages(guest: ConversationGuest, sent: readonly SentWebhook[]): string[] {
  return [
    ...sent.flatMap((webhook) => checkAcceptance(guest, webhook)),
    ...checkOrder(guest, sent),
    ...checkTurns(guest, sent),
    ...checkExecutions(guest),
    ...checkAnswers(guest),
    ...checkIds(guest),
  ];
}

function rowOf({ messages }: ConversationGuest, { key }: SentWebhook) {
  return [...messages.inbox.rows.values()].find(({ accepted }) => accepted.key === `key:${key}`);
}

function checkAcceptance(guest: ConversationGuest, webhook: SentWebhook): string[] {
  const { key, problem, acknowledgedAtMs } = webhook;
  if (problem !== undefined) return [`webhook ${key} was refused: ${problem}`];
  if (acknowledgedAtMs !== undefined && rowOf(guest, webhook) === undefined)
    return [`webhook ${key} was acknowledged but is lost`];
  return [];
}

/** A webhook that was acknowledged before another was sent comes before it. */
function checkOrder(guest: ConversationGuest, sent: readonly SentWebhook[]): string[] {
  return sent.flatMap((earlier) => {
    const { acknowledgedAtMs: atMs = Number.POSITIVE_INFINITY } = earlier;
    const seq = rowOf(guest, earlier)?.seq;
    return sent
      .filter(({ sessionId, sentAtMs }) => sessionId === earlier.sessionId && atMs < sentAtMs)
      .filter((later) => (rowOf(guest, later)?.seq ?? Infinity) <= (seq ?? 0))
      .map((later) => `webhook ${later.key} came before ${earlier.key}, which had been acknowledged before`);
  });
}

/** The session takes the turns of messages in the order of acceptance, whichever node brings them. */
function checkTurns(guest: ConversationGuest, sent: readonly SentWebhook[]): string[] {
  const places = new Map([...guest.tables.rows.executions.keys()].map((key, place) => [key, place]));
  const placeOf = (webhook: SentWebhook): number | undefined =>
    places.get(keyOf(webhook.tenantId, rowOf(guest, webhook)?.accepted.execution_id ?? ''));
  return sent.flatMap((earlier) => {
    const { acknowledgedAtMs: atMs = Number.POSITIVE_INFINITY, sessionId } = earlier;
    const place = placeOf(earlier);
    if (place === undefined) return [];
    return sent
      .filter((later) => later.sessionId === sessionId && atMs < later.sentAtMs)
      .filter((later) => (placeOf(later) ?? Number.POSITIVE_INFINITY) < place)
      .map(({ key }) => `the turn of webhook ${key} came before that of ${earlier.key}, accepted before`);
  });
}

/** Each message leads to one execution or one recorded refusal, and nothing else does. */
function checkExecutions({ messages, tables }: ConversationGuest): string[] {
  const violations: string[] = [];
  const ofMessages = new Set<string>();
  for (const { accepted, state } of messages.inbox.rows.values()) {
    const { key, tenant_id: tenant, execution_id: id } = accepted;
    ofMessages.add(id ?? '');
    if (state !== 'done') continue;
    const place = keyOf(tenant, id ?? '');
    const known = [tables.rows.executions.has(place), messages.refused.has(place)];
    if (known.filter(Boolean).length !== 1)
      violations.push(`message ${key} ended with ${known.filter(Boolean).length} executions`);
  }
  for (const { id, trigger_id: trigger } of tables.rows.executions.values()) {
    if (trigger !== null && !ofMessages.has(id)) violations.push(`execution ${id} belongs to no message`);
  }
  return violations;
}

/** Each ended message has one answer or failure, which the receiver got if it is delivered. */
function checkAnswers({ messages, tables, receiver }: ConversationGuest): string[] {
  const violations: string[] = [];
  const { inbox, outbox } = messages;
  for (const { accepted, state } of inbox.rows.values()) {
    const { key, tenant_id: tenant, execution_id: id } = accepted;
    if (state !== 'done') continue;
    const answers = [...outbox.rows.values()].filter(({ put }) => put.executionId === id);
    const [answer] = answers;
    if (answer === undefined || answers.length > 1) {
      violations.push(`message ${key} has ${answers.length} answers`);
      continue;
    }
    const callbacks = receiver.sent.filter(({ executionId }) => executionId === id);
    const hasArrived = callbacks.some(({ status }) => status === 200);
    if (answer.status === 'delivered' && !hasArrived)
      violations.push(`the answer of message ${key} counts as delivered and never arrived`);
    if (answer.status === 'delivery_failed' && !mayFail(answer))
      violations.push(`the answer of message ${key} failed: ${answer.lastStatus} ${answer.lastError}`);
    if (
      outbox.shown.get(keyOf(tenant, id ?? '')) !== answer.status &&
      tables.rows.executions.has(keyOf(tenant, id ?? ''))
    )
      violations.push(
        `message ${key} shows ${outbox.shown.get(keyOf(tenant, id ?? ''))}, its answer is ${answer.status}`,
      );
    const row = tables.rows.executions.get(keyOf(tenant, id ?? ''));
    for (const { body, isFailure } of callbacks) {
      const said = (JSON.parse(body) as { readonly agent_response: string | null }).agent_response;
      if (isFailure === (row?.outcome === 'COMPLETED') || (!isFailure && said !== row?.output))
        violations.push(`message ${key} (${row?.outcome}) was answered ${body}, its row says ${row?.output}`);
    }
  }
  return violations;
}

/** The receiver refused it for good, people have taken the session over, or all attempts were made. */
function mayFail({ attempts, lastStatus, lastError }: StoredDelivery): boolean {
  return (
    lastStatus === 410 ||
    attempts >= attemptsMax ||
    lastError?.startsWith('Not sent: ') === true ||
    lastError?.startsWith('Broken off: ') === true
  );
}

/** The same delivery has the same id and the same content each time, and no other has them. */
function checkIds({ receiver }: ConversationGuest): string[] {
  const [ids, bodies] = [new Map<string, string>(), new Map<string, string>()];
  return receiver.sent.flatMap(({ id, executionId, body }) => {
    const isOther = (ids.get(executionId) ?? id) !== id || (bodies.get(id) ?? body) !== body;
    ids.set(executionId, id);
    bodies.set(id, body);
    return isOther ? [`callback ${id} of execution ${executionId} was sent with another id or content`] : [];
  });
}
