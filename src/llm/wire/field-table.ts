/**
 * What becomes of each field of the two request formats at each vendor. `docs/fields.md` is made from this table
 * (`node scripts/fields.mjs`).
 *
 * `passed`: sent as the caller wrote it. `translated`: sent in the vendor's own words. `ignored`: not sent, and listed
 * in the header `X-Troupe-Ignored`; only for what does not change the answer or is a mere wish. `refused`: the vendor
 * has nothing like it, so the call is refused by the field's name.
 */
import type { WireDialect } from '../contract.js';

export type Treatment = 'passed' | 'translated' | 'ignored' | 'refused';

/** Vendors that treat fields alike; `compatible` are the operator's own servers. */
export const families = [
  'openai',
  'xai',
  'openrouter',
  'compatible',
  'anthropic',
  'google',
  'bedrock',
  'sim',
] as const;
export type Family = (typeof families)[number];

/** A vendor that the platform does not bring speaks the chat format, unless its models say otherwise. */
export function familyOf(vendor: string): Family {
  return families.find((family) => family === vendor) ?? 'compatible';
}

export interface FieldRow {
  readonly field: string;
  /** At the vendors of the other format, in the order of `columns`. */
  readonly elsewhere: readonly Treatment[];
  /** The capability without which the model takes no such field: it is ignored then (`without-effect.ts`). */
  readonly needs?: 'temperature' | 'reasoning';
  /** The vendors whose models need it, if not all do. */
  readonly needsAt?: readonly Family[];
  /** Vendors of the format itself that may answer with another model because of the field: it is refused there too. */
  readonly otherModel?: readonly Family[];
}

/** The vendors for which each format must be translated. */
export const columns = {
  chat: ['anthropic', 'google', 'bedrock'],
  messages: ['openai', 'xai', 'openrouter', 'compatible', 'google', 'bedrock'],
} as const satisfies Record<WireDialect, readonly Family[]>;

const t = 'translated';
const i = 'ignored';
const r = 'refused';

function row(
  field: string,
  elsewhere: readonly Treatment[] | Treatment,
  needs?: FieldRow['needs'],
): FieldRow {
  const each = typeof elsewhere === 'string' ? Array.from({ length: 6 }, () => elsewhere) : elsewhere;
  return { field, elsewhere: each, ...(needs !== undefined && { needs }) };
}

/**
 * A field by which a caller lets the vendor choose among models. The plan's tiers, the key's `allowed_models` and the
 * price hold for the model of the request alone.
 */
function modelChoice(field: string, otherModel: readonly Family[]): FieldRow {
  return { ...row(field, r), otherModel };
}

/** The fields of OpenAI's chat completions. A field inside another one is named without positions. */
const chatRows: readonly FieldRow[] = [
  row('model', t),
  row('messages', t),
  row('messages.name', i),
  row('messages.audio', r),
  row('messages.function_call', r),
  row('messages.role', r),
  row('messages.annotations', i),
  row('messages.reasoning', i),
  row('messages.reasoning_content', i),
  row('messages.reasoning_details', i),
  row('messages.parsed', i),
  row('messages.cache_control', [t, i, t]),
  row('messages.content.cache_control', [t, i, t]),
  row('messages.content.image_url.detail', i),
  row('messages.content.annotations', i),
  row('messages.content.type', r),
  row('messages.tool_calls.index', i),
  row('messages.tool_calls.type', r),
  row('stream', t),
  row('stream_options', t),
  row('max_tokens', t),
  row('max_completion_tokens', t),
  row('n', t),
  row('stop', t),
  row('temperature', t, 'temperature'),
  row('top_p', t, 'temperature'),
  row('top_k', [t, t, r], 'temperature'),
  row('seed', [i, t, i]),
  row('presence_penalty', [r, t, r]),
  row('frequency_penalty', [r, t, r]),
  row('logit_bias', r),
  row('logprobs', r),
  row('top_logprobs', r),
  row('tools', t),
  row('tools.cache_control', [t, i, t]),
  row('tools.function.strict', t),
  row('tools.type', r),
  row('tool_choice', t),
  row('tool_choice.type', r),
  row('parallel_tool_calls', [t, r, r]),
  row('functions', r),
  row('function_call', r),
  row('response_format', t),
  row('response_format.json_schema.strict', t),
  row('response_format.json_schema.description', i),
  row('reasoning_effort', t, 'reasoning'),
  row('verbosity', r),
  row('modalities', r),
  row('audio', r),
  row('web_search_options', r),
  row('moderation', r),
  row('prediction', i),
  row('user', i),
  row('safety_identifier', i),
  row('metadata', i),
  row('service_tier', i),
  row('store', i),
  row('prompt_cache_key', i),
  row('prompt_cache_options', i),
  row('prompt_cache_retention', i),
  // Gateways between the operator and several vendors have the same fields as OpenRouter.
  modelChoice('models', ['openrouter', 'compatible']),
  modelChoice('fallbacks', ['openrouter', 'compatible']),
  modelChoice('route', ['openrouter']),
];

/** The fields of Anthropic's Messages API. Columns: openai, xai, openrouter, compatible, google, bedrock. */
const messagesRows: readonly FieldRow[] = [
  row('model', t),
  row('messages', t),
  row('messages.content.cache_control', [i, i, t, i, i, t]),
  row('messages.content.content.cache_control', [i, i, t, i, i, i]),
  row('messages.content.citations', i),
  row('messages.content.caller', i),
  row('messages.content.type', r),
  row('messages.content.content.type', r),
  row('system', t),
  row('system.cache_control', [i, i, t, i, i, t]),
  row('system.citations', i),
  row('stream', t),
  row('max_tokens', t),
  { ...row('stop_sequences', t, 'temperature'), needsAt: ['openai', 'xai', 'openrouter', 'compatible'] },
  row('temperature', t, 'temperature'),
  row('top_p', t, 'temperature'),
  row('top_k', [r, r, t, t, t, r], 'temperature'),
  row('tools', t),
  row('tools.cache_control', [i, i, t, i, i, t]),
  row('tools.strict', t),
  row('tools.eager_input_streaming', i),
  row('tools.type', r),
  row('tool_choice', t),
  row('tool_choice.type', r),
  row('tool_choice.disable_parallel_tool_use', [t, t, t, t, r, r]),
  row('thinking', [t, i, t, i, t, t], 'reasoning'),
  row('thinking.display', i),
  row('output_config', t),
  row('cache_control', i),
  row('metadata', i),
  row('service_tier', i),
  row('speed', r),
  row('inference_geo', r),
  row('diagnostics', i),
  modelChoice('fallbacks', ['anthropic']),
];

export const fieldTable: Readonly<Record<WireDialect, readonly FieldRow[]>> = {
  chat: chatRows,
  messages: messagesRows,
};
