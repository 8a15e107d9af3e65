import type { ProcessId } from '../ids/ids.js';
import { instantOf } from '../membership/lease-clock.js';
import type { Time } from '../time/time.js';
import type { ProtocolTrace, Traced } from './events.js';

/** Adds the process and its clocks to its events. */
export function recorder(process: ProcessId, time: Time, write: (traced: Traced) => void): ProtocolTrace {
  return { record: (event) => write({ ...event, process, at: instantOf(time) }) };
}
