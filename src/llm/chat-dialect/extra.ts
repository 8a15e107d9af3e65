import type { LlmEvent } from '../contract.js';
import { isRecord } from '../reply-json.js';

/** Fields that other events carry. Vendors name readable thoughts differently, so these are written anew. */
const deltaKnown = new Set(['role', 'content', 'refusal', 'tool_calls', 'reasoning', 'reasoning_content']);
const rootKept = ['service_tier', 'system_fingerprint', 'citations', 'moderation'];

/**
 * What a chunk holds beside text and calls, if there is anything; fields without a value are none. The fields of the
 * whole answer repeat in each chunk: `first` and the last one are enough.
 */
export function chatExtra(
  chunk: Readonly<Record<string, unknown>>,
  choice: Readonly<Record<string, unknown>>,
  first: boolean,
): LlmEvent | undefined {
  const { logprobs } = choice;
  const written = isRecord(choice['delta']) ? choice['delta'] : {};
  const delta = Object.fromEntries(
    Object.entries(written).filter(([key, value]) => !deltaKnown.has(key) && isSet(value) && !isEmpty(value)),
  );
  const root = Object.fromEntries(
    (first || isEnd(choice) ? rootKept : [])
      .map((key) => [key, chunk[key]] as const)
      .filter(([, value]) => isSet(value)),
  );
  if (!isSet(logprobs) && Object.keys(delta).length === 0 && Object.keys(root).length === 0) return undefined;
  return { type: 'chat_extra', delta, choice: isSet(logprobs) ? { logprobs } : {}, root };
}

/** Some imitators send an empty reason in each chunk. */
function isEnd({ finish_reason: reason }: Readonly<Record<string, unknown>>): boolean {
  return isSet(reason) && reason !== '';
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}
