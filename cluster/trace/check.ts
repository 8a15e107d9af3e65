import type { ProcessId } from '../ids/ids.js';
import type { Traced } from './events.js';
import { Facts } from './facts.js';
import { merge } from './merge.js';
import { rules } from './rules.js';
import { ProcessState, type Situation, type TraceConfig } from './state.js';

/** The first step that the model does not allow. */
export interface Refused {
  readonly traced: Traced;
  /** The transition of the model that it would be. */
  readonly transition: string;
  readonly reason: string;
}

export interface Checked {
  readonly steps: number;
  readonly refused: Refused | undefined;
}

/** Replays the traces of all processes of a cluster, merged by causality, against the transitions of the model. */
export function checkTraces(events: Iterable<Traced>, config: TraceConfig): Checked {
  const traces = new Map<ProcessId, Traced[]>();
  for (const traced of events) {
    const trace = traces.get(traced.process);
    if (trace === undefined) traces.set(traced.process, [traced]);
    else trace.push(traced);
  }
  const facts = new Facts(traces);
  const states = new Map([...traces.keys()].map((id) => [id, new ProcessState(id)]));
  const merged = merge(traces);
  for (const [steps, traced] of merged.entries()) {
    const self = states.get(traced.process);
    if (self === undefined) continue;
    const rule = rules[traced.event];
    const reason = refuse(traced, { self, facts, config });
    if (rule !== undefined && reason !== undefined)
      return { steps, refused: { traced, transition: rule.transition, reason } };
    self.apply(traced);
  }
  return { steps: merged.length, refused: undefined };
}

function refuse<Name extends Traced['event']>(
  traced: Extract<Traced, { readonly event: Name }>,
  situation: Situation,
): string | undefined {
  return rules[traced.event]?.refuse(traced, situation);
}

export function showRefused({ traced, transition, reason }: Refused): string {
  const { event, process, at, ...rest } = traced;
  return `${process} at ${Math.round(at.monotonicMs)} of its clock: ${event} ${JSON.stringify(rest)} is no step "${transition}": ${reason}`;
}
