import { PlatformError } from '../../kernel/errors.js';
import type { InputPlan } from './input-plan.js';
import type { Answer, Arguments } from './tool.js';
import { answerBytesMax, type ToolOutcome, outcomeOf } from './tool-result.js';

/** The size of a page where the client names none. */
const pageRows = 50;

/**
 * Keeps the answer of a tool below the largest size. A list is asked for again in smaller pages until one fits; its
 * cursor leads to the rest. Anything else that is too large is refused, with what to narrow.
 */
export async function boundedAnswer(
  plan: InputPlan,
  args: Arguments,
  run: (args: Arguments) => Promise<Answer>,
): Promise<ToolOutcome> {
  const properties = plan.schema['properties'] as Readonly<Record<string, unknown>>;
  const isPaged = 'limit' in properties && 'cursor' in properties;
  let limit = isPaged ? (typeof args['limit'] === 'number' ? args['limit'] : pageRows) : 0;
  const given = isPaged && args['limit'] === undefined ? { ...args, limit } : args;
  let outcome = outcomeOf(await run(given));
  while (Buffer.byteLength(outcome.text) > answerBytesMax) {
    limit = Math.floor(limit / 4);
    if (limit < 1) throw tooLarge(isPaged);
    outcome = outcomeOf(await run({ ...args, limit }));
  }
  return outcome;
}

function tooLarge(isPaged: boolean): PlatformError {
  return new PlatformError('payload_too_large', {
    message: isPaged
      ? 'A single row of the answer is larger than 1 MB. Read it over the REST API.'
      : 'The answer is larger than 1 MB. Narrow it by the arguments of the tool, or read it over the REST API.',
  });
}
