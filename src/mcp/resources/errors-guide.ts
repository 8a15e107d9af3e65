import { type Dialect, spelled } from '../../http/operations/index.js';
import { type ErrorCode, errorKinds } from '../../kernel/errors.js';

/** Telemetry has a column of its own; the compatible interfaces have the general codes. */
const spellings: readonly Dialect[] = ['general', 'keys', 'invocation'];

/** Every code that an answer, an event, an execution or a callback can have. */
export function errorsText(): string {
  const codes = Object.keys(errorKinds) as ErrorCode[];
  const rows = codes.map((code) => {
    const { status, message, retry } = errorKinds[code];
    const shown = [...new Set(spellings.map((dialect) => spelled(code, dialect)))].join(' or ');
    const again = retry === 'later' ? 'yes, later' : 'no';
    return `| ${shown} | ${status} | ${message} | ${again} | ${spelled(code, 'telemetry')} |`;
  });
  return [
    '# Errors',
    '',
    'A tool that is refused answers with `isError` and `{error, message, details, status: "error"}`; `message` says what is wrong and what to do.',
    '',
    'Where a code has two forms, the second is that of key tools (such as `invalid_input`) or of chats and triggers (in capitals). The last column is the form at `/api/telemetry`, whose errors are `{error: {code, message}}`; the tools for telemetry answer the first.',
    '',
    'Status 200: the code stands in an execution, in the answer of a tool or in a callback, whose request itself was answered.',
    '',
    '| code | HTTP status | meaning | retry | in telemetry |',
    '|---|---|---|---|---|',
    ...rows,
  ].join('\n');
}
