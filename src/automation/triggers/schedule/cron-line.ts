import { Cron } from 'croner';

/**
 * A cron expression over wall-clock times, without a time zone. The library treats them as UTC, where no time is
 * skipped or repeated.
 */
const fieldNames = ['seconds', 'minutes', 'hours', 'day of the month', 'month', 'day of the week'];
const fieldPattern = /^[0-9A-Za-z*?,/#+-]+$/;

export class CronLine {
  readonly #cron: Cron;

  private constructor(cron: Cron) {
    this.#cron = cron;
  }

  /** Returns the parsed expression, or a message that says what is wrong. */
  static read(text: string): CronLine | string {
    const fields = text.trim().split(/[ \t]+/);
    if (fields.length !== 5 && fields.length !== 6) {
      return 'must have five fields, or six with the seconds first';
    }
    const withSeconds = fields.length === 5 ? ['0', ...fields] : fields;
    const cron = withSeconds.every((field) => fieldPattern.test(field)) ? cronOf(withSeconds) : undefined;
    return cron === undefined ? `cannot be read${oddField(withSeconds)}` : new CronLine(cron);
  }

  /** The first match after the given time; undefined if there is none in the years that the library searches. */
  after(wallMs: number): number | undefined {
    return this.#cron.nextRun(new Date(wallMs))?.getTime();
  }

  /** The last match before or at the given time. */
  upTo(wallMs: number): number | undefined {
    return this.#cron.previousRuns(1, new Date(wallMs + 1_000))[0]?.getTime();
  }
}

/** Names the invalid field: each one is parsed alone. */
function oddField(fields: readonly string[]): string {
  const at = fields.findIndex((field, index) => {
    const alone = fields.map((_, other) => (other === index ? field : '*'));
    return !fieldPattern.test(field) || cronOf(alone) === undefined;
  });
  return at === -1 ? '' : `: "${fields[at] ?? ''}" does not fit the ${fieldNames[at] ?? 'field'}`;
}

function cronOf(fields: readonly string[]): Cron | undefined {
  try {
    return new Cron(fields.join(' '), { mode: '6-part', utcOffset: 0, paused: true });
  } catch {
    // The library's messages count days and months from zero; ours name the field.
    return undefined;
  }
}
