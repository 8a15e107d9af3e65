import { PlatformError } from '../../kernel/errors.js';
import { type Ready, whenReady } from '../../kernel/ready.js';
import type { InputPlan } from './input-plan.js';
import type { Answer, Arguments } from './tool.js';
import { answerBytesMax, type ToolOutcome, outcomeOf } from './tool-result.js';

/** The size of a page where the client names none. */
const pageRows = 50;

/**
 * Keeps the answer of a tool below the largest size. A list is asked for again in smaller pages until one fits; its
 * cursor leads to the rest, and the outcome says so. Anything else that is too large is refused, with what to narrow.
 */
export function boundedAnswer(
  { isPaged }: InputPlan,
  args: Arguments,
  run: (args: Arguments) => Ready<Answer>,
): Ready<ToolOutcome> {
  const given = isPaged && args['limit'] === undefined ? { ...args, limit: pageRows } : args;
  return whenReady(run(given), (answer) => {
    const outcome = outcomeOf(answer);
    if (fits(outcome)) return outcome;
    if (!isPaged) throw tooLarge(false);
    return inSmallerPages(given, run);
  });
}

async function inSmallerPages(
  args: Arguments,
  run: (args: Arguments) => Ready<Answer>,
): Promise<ToolOutcome> {
  const asked = Number(args['limit']);
  for (let limit = Math.floor(asked / 4); limit >= 1; limit = Math.floor(limit / 4)) {
    const outcome = outcomeOf(await run({ ...args, limit }));
    if (!fits(outcome)) continue;
    const note =
      `The answer for ${asked} rows is larger than 1 MB, so this page has at most ${limit}. ` +
      'Pass next_cursor as cursor for the rest.';
    return { ...outcome, note };
  }
  throw tooLarge(true);
}

function fits({ text }: ToolOutcome): boolean {
  // No character takes more than three bytes, so most texts need not be measured.
  return text.length * 3 <= answerBytesMax || Buffer.byteLength(text) <= answerBytesMax;
}

function tooLarge(isPaged: boolean): PlatformError {
  return new PlatformError('payload_too_large', {
    message: isPaged
      ? 'A single row of the answer is larger than 1 MB. Read it over the REST API.'
      : 'The answer is larger than 1 MB. Narrow it by the arguments of the tool, or read it over the REST API.',
  });
}
