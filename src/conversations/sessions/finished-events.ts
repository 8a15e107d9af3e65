import { doneEvent, type StreamEvent } from '../invocation/index.js';
import type { ReadExecution } from './reads.store.js';
import { metadataOf } from './live-turn.js';
import { errorEvent } from './turn-end.js';
import { endsOfLog, type EventText, placeAfter, textOf } from './turn-log.js';

/** The last events of a turn whose log has been deleted, rebuilt from the execution: those after the given one. */
export function finishedEvents(execution: ReadExecution, after: number): readonly EventText[] {
  const { id, session_id, outcome } = execution;
  if (outcome === null) return [];
  const blocks = execution.blocks.length === 0 ? {} : { blocks: execution.blocks };
  const parsed = execution.parsed == null ? {} : { parsed: execution.parsed };
  const done = doneEvent(
    { session_id: session_id ?? '', execution_id: id },
    outcome,
    execution.timeout_clock ?? undefined,
  );
  const hasAnswer = outcome === 'COMPLETED' || (execution.output ?? '') !== '';
  const last: readonly StreamEvent[] = [
    ...(execution.error === null ? [] : [errorEvent(execution.error)]),
    // Text that a change of the control mode retracted is not shown later either.
    ...(hasAnswer && outcome !== 'SUSPENDED'
      ? [{ type: 'response' as const, content: execution.output ?? '', ...blocks, ...parsed }]
      : []),
    {
      type: 'metrics',
      usage: execution.usage ?? { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
      cost: execution.cost,
      model: execution.model,
      provider: execution.provider,
      latency_ms: execution.latency_ms ?? 0,
      first_token_ms: execution.first_token_ms,
      tool_calls: execution.tool_calls,
    },
    done,
  ];
  const { last_event: lastId } = execution.input;
  if (lastId != null) {
    const events = endsOfLog(metadataOf(execution), last, lastId);
    return events.slice(placeAfter(events, after));
  }
  // A turn that ended in a former release, or that no session had: nobody knows which events the reader has.
  const events = after === 0 ? [metadataOf(execution), ...last] : last;
  return events.map((event, at) => textOf({ id: after + at + 1, event }));
}
