import { processId, type ProcessId } from '../../cluster/ids/ids.js';
import type { SimulatedHost } from '../../cluster/simulation/host.js';
import { checkTraces, showRefused } from '../../cluster/trace/check.js';
import type { ProtocolTrace, Traced } from '../../cluster/trace/events.js';
import { recorder } from '../../cluster/trace/recorder.js';
import type { TraceConfig } from '../../cluster/trace/state.js';
import type { CheckedEffects, Effect } from './checkers.js';

/** The steps of the protocol that all simulated processes take, checked against the model at the end. */
export class Steps {
  readonly #taken: Traced[] = [];
  readonly #traces = new Map<ProcessId, ProtocolTrace>();

  get count(): number {
    return this.#taken.length;
  }

  of(host: SimulatedHost): ProtocolTrace {
    const process = processId(host.name);
    let trace = this.#traces.get(process);
    if (trace === undefined) {
      trace = recorder(process, host.time, (traced) => this.#taken.push(traced));
      this.#traces.set(process, trace);
    }
    return trace;
  }

  /** Outside effects are steps too. */
  effects(checked: CheckedEffects, host: SimulatedHost): (effect: Effect) => void {
    return (effect) => {
      this.of(host).record({ event: 'effect', actor: effect.actor, epoch: effect.epoch });
      checked.happened(effect);
    };
  }

  /** The first step that the model does not allow. */
  check(config: TraceConfig): string[] {
    const { refused } = checkTraces(this.#taken, config);
    return refused === undefined ? [] : [`trace: ${showRefused(refused)}`];
  }
}
