import { CronLine } from './cron-line.js';
import { ZoneClock } from './zone-clock.js';

/**
 * When a schedule fires: when the clock in its zone reaches a time of its cron expression. Times that daylight saving
 * skips fire once at the end of the gap, together with any regular firing there; a time that occurs twice fires the
 * first time. So each instant is at most one firing, independent of the query.
 */
export interface ScheduleRequest {
  readonly cron: string;
  readonly timezone: string;
}

/** The issue of a schedule that can be read and has no next firing. */
export const neverFires = 'would never fire';

/** Only a run missed within the last day is made up. */
export const lookBackMs = 24 * 3_600_000;

export class Schedule {
  readonly #line: CronLine;
  readonly #clock: ZoneClock;

  private constructor(line: CronLine, clock: ZoneClock) {
    this.#line = line;
    this.#clock = clock;
  }

  /** Returns the schedule, or the wrong field and the reason. A schedule that would never fire is refused, too. */
  static read(
    { cron, timezone }: ScheduleRequest,
    nowMs: number,
  ): Schedule | { readonly field: 'cron' | 'timezone'; readonly issue: string } {
    const line = CronLine.read(cron);
    if (typeof line === 'string') return { field: 'cron', issue: line };
    const clock = clockOf(timezone);
    if (clock === undefined) {
      return {
        field: 'timezone',
        issue: 'must be a name of the IANA time zone database, such as Europe/Berlin',
      };
    }
    const schedule = new Schedule(line, clock);
    if (schedule.next(nowMs) === undefined) return { field: 'cron', issue: neverFires };
    return schedule;
  }

  /** The first firing after the instant; undefined if there is none. */
  next(afterMs: number): number | undefined {
    const wallMs = this.#line.after(this.#clock.reachedBy(afterMs));
    return wallMs === undefined ? undefined : this.#clock.reaches(wallMs);
  }

  /** The last firing after `afterMs`, up to and including `upToMs`. */
  last(afterMs: number, upToMs: number): number | undefined {
    const wallMs = this.#line.upTo(this.#clock.reachedBy(upToMs));
    const firing = wallMs === undefined ? undefined : this.#clock.reaches(wallMs);
    return firing !== undefined && firing > afterMs ? firing : undefined;
  }

  /** The first `max` firings after `afterMs`, up to and including `upToMs`. */
  between(afterMs: number, upToMs: number, max: number): readonly number[] {
    const found: number[] = [];
    let firing = this.next(afterMs);
    while (firing !== undefined && firing <= upToMs && found.length < max) {
      found.push(firing);
      firing = this.next(firing);
    }
    return found;
  }

  /** The missed run to make up after `handledMs`: only the latest one, and none older than a day. */
  missed(policy: 'skip' | 'run_once', handledMs: number, nowMs: number): number | undefined {
    if (policy === 'skip') return undefined;
    return this.last(Math.max(handledMs, nowMs - lookBackMs), nowMs);
  }
}

/** Undefined if it cannot be read, such as a zone that this node's release of Node does not know. */
export function scheduleOf(request: ScheduleRequest, nowMs: number): Schedule | undefined {
  const schedule = Schedule.read(request, nowMs);
  return schedule instanceof Schedule ? schedule : undefined;
}

/** An area, usually with a place. UTC offsets are not accepted, since they ignore daylight saving. */
const zoneName = /^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+){0,2}$/;

function clockOf(zone: string): ZoneClock | undefined {
  if (!zoneName.test(zone)) return undefined;
  try {
    return new ZoneClock(zone);
  } catch {
    // Intl throws for an unknown zone.
    return undefined;
  }
}
