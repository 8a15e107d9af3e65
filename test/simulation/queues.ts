import { clusterConfig, type ClusterConfig } from '../../cluster/config.js';
import {
  queueBounds,
  type NoteQueue,
  type QueueBound,
  type QueueName,
} from '../../cluster/measures/queues.js';
import type { SimulatedProcess } from './simulated-process.js';

export interface QueueLength {
  readonly count: number;
  readonly bytes: number;
}

/** The most that each queue has held. */
export type LongestQueues = Readonly<Partial<Record<QueueName, QueueLength>>>;

/** Replaces bounds of queues, so that a short run reaches them. */
export interface TightQueues {
  readonly bounds: Partial<ClusterConfig>;
  /** The planted bug: bounds that the runtime does not observe. */
  readonly ignored?: readonly (keyof ClusterConfig)[];
}

/** What the runtime observes of these bounds. */
export function observedBounds({ bounds, ignored = [] }: TightQueues): Partial<ClusterConfig> {
  const defaults = clusterConfig();
  return { ...bounds, ...Object.fromEntries(ignored.map((name) => [name, defaults[name]])) };
}

/** Checks that no queue of a process is longer than its bound. */
export class CheckedQueues {
  readonly #bounds: Readonly<Record<QueueName, QueueBound>>;
  readonly #everyEvents: number;
  readonly #violations: string[];
  readonly #now: () => number;
  readonly #longest = new Map<QueueName, { count: number; bytes: number }>();
  readonly #found = new Set<QueueName>();
  #process = '';
  #events = 0;

  constructor(config: ClusterConfig, isTight: boolean, violations: string[], now: () => number) {
    this.#bounds = queueBounds(config);
    // With short queues each event counts. Otherwise the reading would take two thirds of the simulation's time.
    this.#everyEvents = isTight ? 1 : 16;
    this.#violations = violations;
    this.#now = now;
  }

  get longest(): LongestQueues {
    return Object.fromEntries(this.#longest);
  }

  afterEvent(processes: () => readonly SimulatedProcess[]): void {
    this.#events += 1;
    if (this.#events % this.#everyEvents !== 0) return;
    for (const { host, node, recovery, timers, commits, streams } of processes()) {
      this.#process = host.name;
      node.readQueues(this.note);
      this.note('recovered_work', recovery.waiting.fresh);
      this.note('repeated_work', recovery.waiting.repeats);
      this.note('timers', timers.waiting);
      this.note('timer_entries', timers.held);
      this.note('write_batches', commits.waiting.ready);
      this.note('held_up_writes', commits.waiting.heldUp);
      for (const { buffered, bufferedCost } of streams) this.note('unread_messages', buffered, bufferedCost);
    }
  }

  readonly note: NoteQueue = (queue, count, bytes = 0) => {
    const longest = this.#longest.get(queue);
    if (longest === undefined) this.#longest.set(queue, { count, bytes });
    else {
      if (count > longest.count) longest.count = count;
      if (bytes > longest.bytes) longest.bytes = bytes;
    }
    const bound = this.#bounds[queue];
    if (count <= bound.count && bytes <= (bound.bytes ?? 0)) return;
    if (count <= bound.count && bound.bytes === undefined) return;
    if (this.#found.has(queue)) return;
    this.#found.add(queue);
    this.#violations.push(
      `${this.#now()}: the queue ${queue} of ${this.#process} holds ${count} of ${bound.count} and ${bytes} bytes of ${bound.bytes ?? 'any'}`,
    );
  };
}

export function longestOf(all: readonly LongestQueues[]): LongestQueues {
  const longest = new Map<string, QueueLength>();
  for (const one of all) {
    for (const [queue, { count, bytes }] of Object.entries(one)) {
      const before = longest.get(queue);
      longest.set(queue, {
        count: Math.max(count, before?.count ?? 0),
        bytes: Math.max(bytes, before?.bytes ?? 0),
      });
    }
  }
  return Object.fromEntries(longest);
}

/** One line for each queue. */
export function showQueues(longest: LongestQueues, config = clusterConfig()): string {
  const bounds: Readonly<Record<string, QueueBound>> = queueBounds(config);
  return Object.entries(longest)
    .map(([queue, { count, bytes }]) => {
      const bound = bounds[queue];
      const size = bound?.bytes === undefined ? '' : `, ${number(bytes)} of ${number(bound.bytes)} bytes`;
      return `  ${queue}: ${number(count)} of ${number(bound?.count ?? 0)}${size}`;
    })
    .join('\n');
}

function number(value: number): string {
  return value.toLocaleString('en');
}
