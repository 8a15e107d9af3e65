import { valuesMax } from '../../kernel/json-size.js';
import type { LlmRequest } from '../contract.js';
import type { VendorModel } from '../vendor.js';

/** An alternative is an object of three fields, one of them a list of its bytes: 10 values in English, more elsewhere. */
const valuesPerAlternative = 16;

/** Parsing this many values of log probabilities takes about 50 ms, in which the process does nothing else. */
const probabilityValuesMax = 1_000_000;

/** Log probabilities have up to 21 alternatives for each token of an answer; anything else is short. */
export function chatReplyValuesMax(
  { wire, maxTokens = Infinity }: LlmRequest,
  { maxOutputTokens }: VendorModel,
): number | undefined {
  if (wire?.dialect !== 'chat' || wire.body['logprobs'] !== true) return undefined;
  const { top_logprobs: top } = wire.body;
  const alternatives = 1 + (typeof top === 'number' ? top : 0);
  const asked = Math.min(maxTokens, maxOutputTokens) * alternatives * valuesPerAlternative;
  return valuesMax + Math.min(asked, probabilityValuesMax);
}
