import type { FenceStore, FencedWrite } from '../fencing/fence.js';
import { addressText, type ProcessId } from '../ids/ids.js';
import type { ProtocolTrace } from './events.js';

/** The same store, with the trace of what this process activates and writes. */
export function tracedFences<Load, Loaded, Write, Result>(
  store: FenceStore<Load, Loaded, Write, Result>,
  self: ProcessId,
  trace: ProtocolTrace,
): FenceStore<Load, Loaded, Write, Result> {
  const { combine, bytesOf } = store;
  return {
    activate: async (request) => {
      const over = new Set<ProcessId>();
      const ignoreStampsOf = (process: ProcessId): boolean => {
        const ignores = request.ignoreStampsOf(process);
        if (ignores && process !== self) over.add(process);
        return ignores;
      };
      const activated = await store.activate({ ...request, ignoreStampsOf });
      if (activated.outcome === 'activated') {
        const { address, epoch, revision } = activated.fence;
        trace.record({ event: 'acquire', actor: addressText(address), epoch, revision, over: [...over] });
      }
      return activated;
    },
    write: async (batch) => {
      const outcomes = await store.write(batch);
      for (const [place, { outcome }] of outcomes.entries()) recordWrite(batch[place], outcome, trace);
      return outcomes;
    },
    ...(combine === undefined ? {} : { combine: (earlier: Write, later: Write) => combine(earlier, later) }),
    ...(bytesOf === undefined ? {} : { bytesOf: (write: Write) => bytesOf(write) }),
  };
}

function recordWrite<Write>(
  one: FencedWrite<Write> | undefined,
  outcome: string,
  trace: ProtocolTrace,
): void {
  if (one === undefined) return;
  const { address, epoch, revision } = one.fence;
  const actor = addressText(address);
  if (outcome === 'written') trace.record({ event: 'write', actor, epoch, revision: revision + 1 });
  else if (outcome === 'fenced') trace.record({ event: 'refused', actor, epoch });
}
