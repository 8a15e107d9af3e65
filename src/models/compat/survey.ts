/**
 * Lists what a request asks for, before it is translated: each field with its place, and the parts that the platform's
 * own form does not hold. Those parts reach only vendors of the caller's own format.
 */
import type { WireDialect, WireField, WireRequest } from '../../llm/index.js';

type Json = Readonly<Record<string, unknown>>;

/** Values with which a field asks for nothing: those that the vendors use without the field. */
const neutral: Readonly<Record<string, readonly unknown[]>> = {
  n: [1],
  presence_penalty: [0],
  frequency_penalty: [0],
  logprobs: [false],
  top_logprobs: [0],
  store: [false],
  stream: [false],
  parallel_tool_calls: [true],
  verbosity: ['medium'],
  modalities: ['text'],
  'tools.function.strict': [false],
  'tools.strict': [false],
  'tool_choice.disable_parallel_tool_use': [false],
  'response_format.json_schema.strict': [false],
  'messages.content.citations': [false],
};

export class Survey {
  readonly #places = new Map<string, string>();
  opaqueBytes = 0;

  /** Each field once, with its first place. */
  get fields(): readonly WireField[] {
    return [...this.#places].map(([field, path]) => ({ field, path }));
  }

  add(field: string, path: string, value: unknown): void {
    if (!this.#places.has(field) && !asksNothing(field, value)) this.#places.set(field, path);
  }

  /** The fields of `object` beside the `known` ones. `field` and `path` name the object. */
  beside(known: ReadonlySet<string>, object: Json, field: string, path: string): void {
    for (const [key, value] of Object.entries(object)) {
      if (!known.has(key)) this.add(`${field}.${key}`, `${path}.${key}`, value);
    }
  }

  /** A part that is sent as it is, or not at all. */
  opaque(field: string, path: string, value: unknown): void {
    this.opaqueBytes += JSON.stringify(value).length;
    this.add(field, path, value);
  }
}

function asksNothing(field: string, value: unknown): boolean {
  if (value === undefined || value === null) return true;
  if (Array.isArray(value)) {
    const [only] = value;
    return value.length === 0 || (value.length === 1 && isNeutral(field, only));
  }
  if (typeof value === 'object') {
    return Object.keys(value).length === 0 || (value as Json)['enabled'] === false;
  }
  return isNeutral(field, value);
}

/** Callers choose the names of fields: `constructor` is one that every object has. */
function isNeutral(field: string, value: unknown): boolean {
  return Object.hasOwn(neutral, field) && neutral[field]?.includes(value) === true;
}

export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** For a body that the check of the request has accepted. */
export function wireOf(dialect: WireDialect, body: unknown, { fields, opaqueBytes }: Survey): WireRequest {
  return { dialect, body: isJson(body) ? body : {}, headers: {}, fields, opaqueBytes };
}
