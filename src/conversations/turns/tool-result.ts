import { type SchemaToolAnswer, ToolError } from '../../agents/index.js';
import type { StepEnd } from './step-log.js';

/** The result of a call: for the record, and as text for the model. */
export interface ToolResult {
  readonly state: StepEnd;
  readonly text: string;
}

export function refused(text: string): ToolResult {
  return { state: 'failed', text };
}

/** A call that an earlier process made without recording its result, and that must not be repeated. */
export const unknownOutcome: ToolResult = refused(
  'The outcome of this call is unknown: it was made, then the connection was lost, and it was not made again. ' +
    'It may or may not have had its effect.',
);

export function answered({ status, text, isError, truncated }: SchemaToolAnswer): ToolResult {
  const shown = truncated ? `${text}\n[The answer is longer; the rest was cut.]` : text;
  if (isError) {
    const what =
      status === null ? 'The tool says that it failed.' : `The tool answered with status ${status}.`;
    return { state: 'failed', text: shown === '' ? what : `${what}\n${shown}` };
  }
  return { state: 'finished', text: shown === '' ? 'The tool answered nothing.' : shown };
}

/** Undefined for unknown errors. */
export function failureOf(error: unknown): ToolResult | undefined {
  if (!(error instanceof ToolError)) return undefined;
  const { failure, message, mayHaveArrived } = error;
  const arrived = mayHaveArrived ? ' The call may have had its effect all the same.' : '';
  switch (failure) {
    case 'timeout':
      return { state: 'timeout', text: `The tool did not answer in time: ${message}${arrived}` };
    case 'context-missing':
      return refused(`CONTEXT_PARAM_MISSING: ${message} The tool was not called.`);
    default:
      return refused(`The tool could not be used: ${message}${arrived}`);
  }
}
