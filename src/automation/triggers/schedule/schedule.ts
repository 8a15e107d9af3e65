import { CronLine } from './cron-line.js';
import { ZoneClock } from './zone-clock.js';

/**
 * When a schedule fires: at each time of its line, when the clock in its zone gets there. A time that summer time
 * skips fires once where the gap ends, together with all others of the gap and with what fires there anyway; one that
 * comes twice fires the first time. So an instant is at most one firing, whoever asks, and in whatever order.
 */
export interface ScheduleRequest {
  readonly cron: string;
  readonly timezone: string;
}

/** Of missed runs no more than the last day is made up for. */
export const lookBackMs = 24 * 3_600_000;

export class Schedule {
  readonly #line: CronLine;
  readonly #clock: ZoneClock;

  private constructor(line: CronLine, clock: ZoneClock) {
    this.#line = line;
    this.#clock = clock;
  }

  /** The schedule; or the field that is wrong and why. One that would never fire is refused, too. */
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
    if (schedule.next(nowMs) === undefined) return { field: 'cron', issue: 'would never fire' };
    return schedule;
  }

  /** The first firing after the instant; undefined where none comes any more. */
  next(afterMs: number): number | undefined {
    const wallMs = this.#line.after(this.#clock.reachedBy(afterMs));
    return wallMs === undefined ? undefined : this.#clock.reaches(wallMs);
  }

  /** The last firing up to the instant, itself included, that comes after the other one. */
  last(afterMs: number, upToMs: number): number | undefined {
    const wallMs = this.#line.upTo(this.#clock.reachedBy(upToMs));
    const firing = wallMs === undefined ? undefined : this.#clock.reaches(wallMs);
    return firing !== undefined && firing > afterMs ? firing : undefined;
  }

  /** The firings after the one instant and up to the other, itself included; the first `max` of them. */
  between(afterMs: number, upToMs: number, max: number): readonly number[] {
    const found: number[] = [];
    let firing = this.next(afterMs);
    while (firing !== undefined && firing <= upToMs && found.length < max) {
      found.push(firing);
      firing = this.next(firing);
    }
    return found;
  }

  /**
   * The run to make up for, where nobody was there for firings after `handledMs`: the latest of them, however many
   * there were, and none that lies further back than a day.
   */
  missed(policy: 'skip' | 'run_once', handledMs: number, nowMs: number): number | undefined {
    if (policy === 'skip') return undefined;
    return this.last(Math.max(handledMs, nowMs - lookBackMs), nowMs);
  }
}

/** An area, and mostly a place in it. An offset is none: nobody's clock goes by it for ever. */
const zoneName = /^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+){0,2}$/;

function clockOf(zone: string): ZoneClock | undefined {
  if (!zoneName.test(zone)) return undefined;
  try {
    return new ZoneClock(zone);
  } catch {
    // How Intl says that it does not know the zone.
    return undefined;
  }
}
