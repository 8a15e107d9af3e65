// What must hold of conversations and of the ledger at the end of a run.
import type { ExecutionRow, MessageRow } from '../../../src/conversations/sessions/rows.js';
import { inputTokens, outputTokens } from '../../../src/llm/index.js';
import type { ConversationGuest } from './guest.js';
import { type SentTurn, sessions } from './load.js';
import { keyOf } from './session-tables.js';
import type { Billed } from './vendor.js';

/** A request ends within its deadline and a moment. */
const requestMsMax = 95_000;
/** The reasons for which a turn may fail in a run: too many processes died during it, or its store was unreachable. */
const failures: ReadonlySet<string> = new Set(['worker_lost', 'service_unavailable', 'turn_timeout']);

/** One turn runs and this many wait. */
const waitingMax = 32;

export function unfinishedTurns({ tables }: ConversationGuest): readonly ExecutionRow[] {
  return [...tables.rows.executions.values()].filter(({ outcome }) => outcome === null);
}

export function checkConversations(
  guest: ConversationGuest,
  sent: readonly SentTurn[],
  nowMs: number,
): string[] {
  return [
    ...guest.problems,
    ...sent.flatMap((turn) => checkRequest(guest, turn, nowMs)),
    ...checkAcceptedOrder(guest, sent),
    ...sessions.flatMap(({ tenantId, sessionId }) => checkSession(guest, tenantId, sessionId)),
    ...checkNothingHeld(guest),
    ...(guest.tables.longestQueue > waitingMax + 1
      ? [`a session had ${guest.tables.longestQueue} unfinished turns`]
      : []),
  ];
}

/** Each answer that a sender got agrees with the row. */
function checkRequest({ tables }: ConversationGuest, sent: SentTurn, nowMs: number): string[] {
  const { executionId, tenantId, origin, sentAtMs, acceptedAtMs, ended, error, outcome, response } = sent;
  const violations: string[] = [];
  const what = `turn ${executionId}, sent at ${Math.round(sentAtMs)}`;
  if (!ended && !origin.isDead && nowMs - sentAtMs > requestMsMax)
    violations.push(`${what}, was never answered`);
  if (error?.startsWith('untyped') === true) violations.push(`${what}, was refused ${error}`);
  if (acceptedAtMs === undefined) return violations;
  const row = tables.rows.executions.get(keyOf(tenantId, executionId));
  if (row === undefined) return [...violations, `${what}, was acknowledged but is lost`];
  if (outcome !== undefined && row.outcome !== outcome)
    violations.push(`${what}, was shown as ${outcome}, the row says ${row.outcome}`);
  if (outcome === 'COMPLETED' && row.output !== response)
    violations.push(`${what}, was answered ${response}, the row says ${row.output}`);
  return violations;
}

/** A turn that was acknowledged before another was sent comes before it. */
function checkAcceptedOrder({ tables }: ConversationGuest, sent: readonly SentTurn[]): string[] {
  const violations: string[] = [];
  for (const { tenantId, sessionId } of sessions) {
    const of = sent.filter((turn) => turn.sessionId === sessionId);
    const firstSentAt = new Map<string, number>();
    const acceptedAt = new Map<string, number>();
    for (const { executionId: id, sentAtMs, acceptedAtMs } of of) {
      firstSentAt.set(id, Math.min(sentAtMs, firstSentAt.get(id) ?? Number.POSITIVE_INFINITY));
      if (acceptedAtMs !== undefined)
        acceptedAt.set(id, Math.min(acceptedAtMs, acceptedAt.get(id) ?? Number.POSITIVE_INFINITY));
    }
    const arrivalOf = (id: string): number | undefined =>
      tables.rows.executions.get(keyOf(tenantId, id))?.arrival;
    for (const [earlier, atMs] of acceptedAt) {
      for (const [later, sentAtMs] of firstSentAt) {
        const [one, other] = [arrivalOf(earlier), arrivalOf(later)];
        if (atMs < sentAtMs && one !== undefined && other !== undefined && one >= other)
          violations.push(
            `turn ${later} came before ${earlier}, which had been acknowledged before it was sent`,
          );
      }
    }
  }
  return violations;
}

/** Turns exactly once, one at a time, and in the order of acceptance. */
function checkSession({ tables }: ConversationGuest, tenantId: string, sessionId: string): string[] {
  const { rows } = tables;
  const session = rows.sessions.get(keyOf(tenantId, sessionId));
  const turns = [...rows.executions.values()]
    .filter(({ session_id: id }) => id === sessionId)
    .toSorted((one, other) => one.arrival - other.arrival);
  if (session === undefined) return turns.length === 0 ? [] : [`${sessionId} has turns and no row`];
  const messages = [...rows.messages.values()]
    .filter(({ session_id: id }) => id === sessionId)
    .toSorted((one, other) => one.number - other.number);
  const violations: string[] = [];
  const arrivals = new Set(turns.map(({ arrival }) => arrival));
  if (arrivals.size < turns.length) violations.push(`${sessionId}: two turns have one arrival number`);
  if (messages.some(({ number }, at) => number !== at + 1) || session.last_message !== messages.length)
    violations.push(
      `${sessionId}: messages ${messages.map(({ number }) => number).join(' ')}, the last is ${session.last_message}`,
    );
  const begun = turns.filter(({ attempts, outcome }) => attempts > 0 && outcome !== null);
  if (session.total_turns < begun.length)
    violations.push(`${sessionId}: ${session.total_turns} turns are counted of ${begun.length}`);
  let lastNumber = 0;
  for (const turn of turns) {
    const own = messages.filter(({ execution_id: id }) => id === turn.id);
    violations.push(...checkTurn(turn, own));
    const [first] = own;
    if (first === undefined) continue;
    if (first.number < lastNumber)
      violations.push(`turn ${turn.id} of ${sessionId} began before an earlier one had ended`);
    lastNumber = own.at(-1)?.number ?? lastNumber;
  }
  return violations;
}

function checkTurn(turn: ExecutionRow, messages: readonly MessageRow[]): string[] {
  const { id, outcome, error, output, attempts, input } = turn;
  const violations: string[] = [];
  const users = messages.filter(({ role }) => role === 'user');
  const answers = messages.filter(({ role }) => role === 'assistant');
  if (outcome === null) violations.push(`turn ${id} never ended`);
  if (outcome === 'FAILED' && !failures.has(error?.code ?? ''))
    violations.push(`turn ${id} failed: ${error?.code}: ${error?.message}`);
  if (outcome === 'FAILED' && error?.code === 'worker_lost' && attempts < 3)
    violations.push(`turn ${id} was given up after ${attempts} starts`);
  const wasBegun = attempts > 0;
  if (users.length !== (wasBegun || outcome === 'SUSPENDED' ? 1 : 0))
    violations.push(`turn ${id} (${outcome}, ${attempts} starts) has ${users.length} messages of its user`);
  if (answers.length > 1 || (outcome === 'COMPLETED' && answers.length !== 1))
    violations.push(`turn ${id} (${outcome}) has ${answers.length} answers`);
  const [answer] = answers;
  if (answer !== undefined && answer.content !== output)
    violations.push(`turn ${id} answered ${answer.content}, its row says ${output}`);
  const wanted = input.message.split(': ').at(-1) ?? '';
  const wantedTools = wanted === '' ? 0 : wanted.split(' ').length;
  if (outcome === 'COMPLETED' && turn.tool_calls !== wantedTools)
    violations.push(`turn ${id} called ${turn.tool_calls} tools of ${wantedTools}`);
  return violations;
}

/** No turn's stamp remains on an actor's row. */
function checkNothingHeld({ store }: ConversationGuest): string[] {
  return [...store.rows].flatMap(([actor, { busyProcess }]) =>
    busyProcess === undefined ? [] : [`${actor.split('\0').at(-1)} is still held by ${busyProcess}`],
  );
}

/** The ledger against the vendor's bill; and what was counted against the rows. */
export function checkLedger({ usage, vendor }: ConversationGuest): string[] {
  const violations: string[] = [];
  const rows = new Map([...usage.rows.values()].map((row) => [row.opened.attempt_id, row]));
  const open = usage.openRows();
  if (open.length > 0)
    violations.push(`${open.length} rows of the ledger stay open: ${open[0]?.opened.attempt_id}`);
  const billed = new Map<string, Billed>();
  for (const request of vendor.bill) {
    const { attemptId, usage: used } = request;
    if (billed.has(attemptId)) violations.push(`attempt ${attemptId} was billed twice`);
    billed.set(attemptId, request);
    const row = rows.get(attemptId);
    const [input, output] = [inputTokens(used), outputTokens(used)];
    if (row === undefined) violations.push(`attempt ${attemptId} was billed and has no row`);
    else if (row.outcome !== 'orphaned' && (row.input !== input || row.output !== output))
      violations.push(
        `attempt ${attemptId} was billed ${input} + ${output} tokens, its row (${row.outcome}) says ${row.input} + ${row.output}`,
      );
  }
  for (const [attemptId, { outcome, input, output }] of rows) {
    if (!billed.has(attemptId) && outcome !== 'orphaned' && input + output > 0)
      violations.push(`attempt ${attemptId} (${outcome}) has ${input + output} tokens that nobody billed`);
  }
  const tokens = new Map<string, number>();
  const nanos = new Map<string, number>();
  for (const { opened, input, output, nanos: cost } of usage.rows.values()) {
    add(tokens, `${opened.tenant_id} ${opened.month.slice(0, 7)}`, input + output);
    add(nanos, `${opened.tenant_id} ${new Date(opened.opened_at).toISOString().slice(0, 10)}`, cost);
  }
  violations.push(
    ...different('tokens of', usage.months, tokens),
    ...different('costs of', usage.days, nanos),
  );
  return violations;
}

function add(sums: Map<string, number>, name: string, amount: number): void {
  if (amount > 0) sums.set(name, (sums.get(name) ?? 0) + amount);
}

function different(
  what: string,
  counted: ReadonlyMap<string, number>,
  rows: ReadonlyMap<string, number>,
): string[] {
  return [...new Set([...counted.keys(), ...rows.keys()])].flatMap((name) =>
    counted.get(name) === rows.get(name)
      ? []
      : [`the ${what} ${name} are counted as ${counted.get(name)}, the rows sum to ${rows.get(name)}`],
  );
}
