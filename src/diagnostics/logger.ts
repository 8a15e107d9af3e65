import { type DestinationStream, type Logger, pino } from 'pino';

export type { Logger } from 'pino';

/**
 * One JSON line per event. Lines are gathered and written together, because a write per line costs more than the
 * request it tells of; whatever is fatal is written at once by `flush`.
 */
export function createLogger(options: {
  readonly level: string;
  readonly destination?: DestinationStream;
  readonly fields?: Readonly<Record<string, string>>;
}): Logger {
  return pino(
    {
      level: options.level,
      base: options.fields ?? {},
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: redactedPaths, censor: '[REDACTED]' },
      serializers: { error: pino.stdSerializers.errWithCause },
    },
    options.destination ?? pino.destination({ dest: 1, sync: false, minLength: 4096, periodicFlush: 500 }),
  );
}

/** A second wall: secrets are values that refuse to print themselves; these names never hold anything to print. */
const redactedPaths = ['password', 'token', 'secret', 'api_key', 'apiKey', 'authorization'].flatMap(
  (name) => [name, `*.${name}`, `*.*.${name}`],
);
