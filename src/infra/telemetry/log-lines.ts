import { type AnyValueMap, type Logger, SeverityNumber } from '@opentelemetry/api-logs';

const severities: Readonly<Record<string, SeverityNumber>> = {
  trace: SeverityNumber.TRACE,
  debug: SeverityNumber.DEBUG,
  info: SeverityNumber.INFO,
  warn: SeverityNumber.WARN,
  error: SeverityNumber.ERROR,
  fatal: SeverityNumber.FATAL,
};

/**
 * Emits a line of the log as a record. The line is the log's own JSON, so it is bounded and holds no secret. Called while
 * the work that wrote it is running, so the record carries its trace.
 */
export function emitLine(logger: Logger, line: string): void {
  let fields: AnyValueMap;
  try {
    fields = JSON.parse(line) as AnyValueMap;
  } catch {
    logger.emit({ body: line.trimEnd() });
    return;
  }
  const { level, time, msg, error, ...others } = fields;
  const severity = typeof level === 'string' ? level : 'info';
  logger.emit({
    ...(typeof time === 'number' && { timestamp: time }),
    severityNumber: severities[severity] ?? SeverityNumber.INFO,
    severityText: severity.toUpperCase(),
    body: typeof msg === 'string' ? msg : '',
    attributes: { ...others, ...exceptionIn(error) },
  });
}

function exceptionIn(error: unknown): AnyValueMap {
  if (error === undefined) return {};
  if (typeof error !== 'object' || error === null) return { error: JSON.stringify(error) };
  const { name, message, stack } = error as Readonly<Record<string, unknown>>;
  return {
    ...(typeof name === 'string' && { 'exception.type': name }),
    ...(typeof message === 'string' && { 'exception.message': message }),
    ...(typeof stack === 'string' && { 'exception.stacktrace': stack }),
  };
}
