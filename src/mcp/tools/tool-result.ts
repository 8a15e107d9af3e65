import type { CallToolResult } from '@modelcontextprotocol/server';
import { type ErrorCode, errorKinds, type PlatformError } from '../../kernel/errors.js';
import { type Dialect, spelled } from '../../http/operations/index.js';
import type { Answer } from './tool.js';

/** The largest answer as text. Clients keep answers in a model's context, which takes far less. */
export const answerBytesMax = 1024 * 1024;

/** The outcome of a tool call: its answer, and the answer's JSON text, which is made once. */
export interface ToolOutcome {
  readonly answer: Answer;
  readonly text: string;
  readonly isError: boolean;
  /** A note for the client: the answer is a smaller page than the client asked for. */
  readonly note?: string;
}

export function outcomeOf(answer: Answer, isError = false): ToolOutcome {
  return { answer, text: JSON.stringify(answer), isError };
}

/** The answer as structured content and the same as JSON text. */
export function resultOf({ answer, text, isError, note }: ToolOutcome): CallToolResult {
  return {
    content: [{ type: 'text', text }, ...(note === undefined ? [] : [{ type: 'text' as const, text: note }])],
    structuredContent: { ...answer },
    ...(isError ? { isError } : {}),
  };
}

/**
 * A refusal as a result, so that the model can read it and correct itself. The code is spelled as the endpoint of the
 * operation spells it; a missing right has one code for all tools.
 */
export function refusalOf(error: PlatformError, dialect: Dialect): ToolOutcome {
  const { code, message, details, retryAfterSeconds } = error;
  const next = nextSteps[code] ?? errorKinds[code].advice;
  return outcomeOf(
    {
      error:
        code === 'insufficient_permissions'
          ? code
          : spelled(code, dialect === 'telemetry' ? 'general' : dialect),
      message: next === '' || message.includes(next) ? message : `${asSentence(message)} ${next}`,
      ...(details === undefined ? {} : { details }),
      ...(retryAfterSeconds === undefined ? {} : { retry_after_seconds: retryAfterSeconds }),
      status: 'error',
    },
    true,
  );
}

function asSentence(message: string): string {
  return /[.!?]$/.test(message) ? message : `${message}.`;
}

/** The next step for the model, if a tool helps. */
const nextSteps: Partial<Record<ErrorCode, string>> = {
  validation_error: 'Correct the named argument and call the tool again.',
  missing_required_field: 'Add the named argument and call the tool again.',
  agent_not_found: 'Call list_agents for the ids of agents.',
  not_found: 'Call the list tool of this kind for its ids.',
  quota_exceeded:
    'Call get_quota for the tokens and the date of the reset; for a budget, call get_billing_plan.',
  invalid_model: 'Call list_models for the models of the plan.',
};
