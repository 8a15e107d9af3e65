import type { CallToolResult } from '@modelcontextprotocol/server';
import type { PlatformError } from '../../kernel/errors.js';
import type { Answer } from './tool.js';

/** The largest answer as text. Clients keep answers in a model's context, which takes far less. */
export const answerBytesMax = 1024 * 1024;

/** The end of a tool call: its answer, and the same as JSON text, which is made once. */
export interface ToolOutcome {
  readonly answer: Answer;
  readonly text: string;
  readonly isError: boolean;
}

export function outcomeOf(answer: Answer, isError = false): ToolOutcome {
  return { answer, text: JSON.stringify(answer), isError };
}

/** The answer as structured content and the same as JSON text. */
export function resultOf({ answer, text, isError }: ToolOutcome): CallToolResult {
  return {
    content: [{ type: 'text', text }],
    structuredContent: { ...answer },
    ...(isError ? { isError } : {}),
  };
}

/** A refusal as a result, so that the model can read it and correct itself. */
export function refusalOf(error: PlatformError): ToolOutcome {
  return outcomeOf(
    {
      error: error.code,
      message: [error.message, nextStep(error)].filter((text) => text !== '').join(' '),
      ...(error.details === undefined ? {} : { details: error.details }),
      ...(error.retryAfterSeconds === undefined ? {} : { retry_after_seconds: error.retryAfterSeconds }),
      status: 'error',
    },
    true,
  );
}

/** What a model can do about a refusal, where its own message does not say it. */
function nextStep({ code, retryAfterSeconds, retry }: PlatformError): string {
  switch (code) {
    case 'insufficient_permissions':
      return 'Ask an owner or admin to do this, or use a key with that role.';
    case 'validation_error':
    case 'missing_required_field':
      return 'Correct the named argument and call the tool again.';
    case 'agent_not_found':
      return 'Call list_agents for the ids of agents.';
    case 'not_found':
      return 'Call the list tool of this kind for its ids.';
    case 'quota_exceeded':
      return 'Call get_quota for the date of the reset.';
    case 'invalid_model':
      return 'Call list_models for the models of the plan.';
    default:
  }
  if (retry === 'never') return '';
  return retryAfterSeconds === undefined
    ? 'Call the tool again later.'
    : `Call the tool again in ${retryAfterSeconds} s.`;
}
