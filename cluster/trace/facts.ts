import type { ProcessId } from '../ids/ids.js';
import { viewKey } from './merge.js';
import type { Traced } from './events.js';

type Of<Name extends Traced['event']> = Extract<Traced, { readonly event: Name }>;

export interface Promised {
  readonly by: ProcessId;
  /** The place of the promise in its giver's trace; undefined if it is in no trace. */
  readonly place: number | undefined;
}

export interface Confirmed {
  readonly place: number;
  readonly view: number;
  readonly promises: readonly Promised[];
  /** The seized number that was read; undefined if PostgreSQL did not answer. */
  readonly seized: number | undefined;
}

/** What all traces together say, whatever the order of their events. */
export class Facts {
  readonly traces: ReadonlyMap<ProcessId, readonly Traced[]>;
  readonly published = new Set<string>();
  readonly membersOf = new Map<number, readonly ProcessId[]>();
  readonly acquired = new Map<string, Of<'acquire'>[]>();
  readonly #confirmed = new Map<ProcessId, readonly Confirmed[]>();

  constructor(traces: ReadonlyMap<ProcessId, readonly Traced[]>) {
    this.traces = traces;
    for (const trace of traces.values()) {
      for (const traced of trace) {
        if (traced.event === 'publish') this.published.add(viewKey(traced));
        if (traced.event === 'acquire') {
          const known = this.acquired.get(traced.actor);
          if (known === undefined) this.acquired.set(traced.actor, [traced]);
          else known.push(traced);
        }
      }
    }
    for (const process of traces.keys()) this.#confirmed.set(process, this.#confirmedOf(process));
  }

  confirmedOf(process: ProcessId): readonly Confirmed[] {
    return this.#confirmed.get(process) ?? [];
  }

  /** The place at which the process sent its renewal with this count, or the next one. */
  renewalPlace(process: ProcessId, renewals: number): number | undefined {
    const place = this.traces
      .get(process)
      ?.findIndex((traced) => traced.event === 'renewing' && traced.renewals >= renewals);
    return place === -1 ? undefined : place;
  }

  /** Whether the process stated after this place, by this renewal or before, that no promise bound it any more. */
  wasUnbound(process: ProcessId, afterPlace: number, renewals: number): boolean {
    const trace = this.traces.get(process) ?? [];
    return trace.some(
      (traced, place) =>
        place > afterPlace &&
        traced.event === 'renewing' &&
        traced.renewals <= renewals &&
        traced.promisedMs === 0,
    );
  }

  /** Each confirmation with the promises and the number that arrived since its questions began. */
  #confirmedOf(process: ProcessId): Confirmed[] {
    const trace = this.traces.get(process) ?? [];
    const counts = new Map<ProcessId, number>();
    const since: { atMs: number; promised: Promised | undefined; seized: number | undefined }[] = [];
    const found: Confirmed[] = [];
    for (const [place, traced] of trace.entries()) {
      const atMs = traced.at.monotonicMs;
      if (traced.event === 'promised') {
        const count = (counts.get(traced.by) ?? 0) + 1;
        counts.set(traced.by, count);
        const promised = { by: traced.by, place: this.#promisePlace(traced.by, process, count) };
        since.push({ atMs, promised, seized: undefined });
      } else if (traced.event === 'seized_read') {
        since.push({ atMs, promised: undefined, seized: traced.number });
      } else if (traced.event === 'confirm') {
        const { monotonicMs } = traced.from;
        const heard = since.filter((one) => one.atMs >= monotonicMs);
        found.push({
          place,
          view: traced.view,
          promises: heard.flatMap(({ promised }) => promised ?? []),
          seized: heard.findLast(({ seized }) => seized !== undefined)?.seized,
        });
      }
    }
    return found;
  }

  #promisePlace(by: ProcessId, to: ProcessId, count: number): number | undefined {
    let seen = 0;
    const place = this.traces.get(by)?.findIndex((traced) => {
      if (traced.event !== 'promise' || traced.to !== to) return false;
      seen += 1;
      return seen === count;
    });
    return place === -1 ? undefined : place;
  }
}
