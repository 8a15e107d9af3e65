import type { SessionWrite } from './rows.js';

/**
 * Combines a write with an earlier one of the same session that has not left yet. Rows are complete, so the later
 * of two versions counts; a statement must not contain a row twice.
 */
export function combinedWrite(earlier: SessionWrite, later: SessionWrite): SessionWrite {
  const session = later.session ?? earlier.session;
  const erase = later.erase ?? earlier.erase;
  return {
    ...(session !== undefined && { session }),
    ...(erase !== undefined && { erase }),
    participants: newest(earlier.participants, later.participants, ({ consumer_key: key }) => key),
    messages: newest(earlier.messages, later.messages, ({ number }) => String(number)),
    executions: newest(earlier.executions, later.executions, ({ id }) => id),
    steps: newest(earlier.steps, later.steps, (step) => `${step.execution_id} ${step.number}`),
    logs: newest(earlier.logs, later.logs, ({ execution_id: id }) => id),
    approvals: newest(earlier.approvals, later.approvals, ({ id }) => id),
    opened: [...(earlier.opened ?? []), ...(later.opened ?? [])],
    touches: [...(earlier.touches ?? []), ...(later.touches ?? [])],
    facts: [...(earlier.facts ?? []), ...(later.facts ?? [])],
    attachments: [...(earlier.attachments ?? []), ...(later.attachments ?? [])],
    erasedPeople: [...(earlier.erasedPeople ?? []), ...(later.erasedPeople ?? [])],
    realtimeEvents: [...(earlier.realtimeEvents ?? []), ...(later.realtimeEvents ?? [])],
  };
}

function newest<Row>(
  earlier: readonly Row[] = [],
  later: readonly Row[] = [],
  keyOf: (row: Row) => string,
): readonly Row[] {
  if (earlier.length === 0) return later;
  const replaced = new Set(later.map(keyOf));
  return [...earlier.filter((row) => !replaced.has(keyOf(row))), ...later];
}
