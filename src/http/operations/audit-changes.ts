import { isDeepStrictEqual } from 'node:util';
import type { FieldChange, FieldChanges } from '../../kernel/audit-context.js';
import { isJsonObject, type JsonObject, mergePatch } from './merge-patch.js';
import type { Operation } from './operation.js';

/**
 * Fields that hold a secret or a text of a conversation, at any depth. The store redacts what looks like a secret besides;
 * these names give no sign of one.
 */
const leftOut: ReadonlySet<string> = new Set([
  'value',
  'message',
  'messages',
  'content',
  'text',
  'query',
  'input',
  'arguments',
  'attachments',
  'context',
  'sample',
  'payload',
  'facts',
  'facts_extra',
  'credentials',
  'auth',
  'headers',
  'token',
  'secret',
  'password',
  'confirm',
  'connection_string',
  'idempotency_key',
]);

/** Things of a person: an erasure leaves no word of them, and no entry can be changed. Only the state is told. */
const personal = /^\/api\/(?:v1\/)?(?:sessions|approvals|consumers|executions|deliveries|attachments)\b/;
const states: ReadonlySet<string> = new Set(['control_mode', 'status', 'expires_in_seconds', 'decision']);

/** The fields that the operation and the body set, with their values before. */
export function fieldChanges(
  { path, method, sets }: Pick<Operation, 'path' | 'method' | 'sets'>,
  before: JsonObject | undefined,
  body: unknown,
): FieldChanges {
  const isPersonal = personal.test(path);
  const changes: Record<string, FieldChange> = {};
  for (const [field, value] of Object.entries({ ...(isJsonObject(body) ? body : {}), ...sets })) {
    if (value === undefined || leftOut.has(field) || (isPersonal && !states.has(field))) continue;
    const old = before?.[field] ?? before?.[snakeCase(field)] ?? null;
    if (method === 'PATCH' && isJsonObject(old) && isJsonObject(value) && !replaced.has(field)) {
      const [was, is] = difference(old, mergePatch(old, value));
      if (was !== undefined || is !== undefined) changes[field] = { old: without(was), new: without(is) };
      continue;
    }
    const change = { old: without(old), new: without(value) };
    if (!isDeepStrictEqual(change.old, change.new)) changes[field] = change;
  }
  return changes;
}

/** Objects that a PATCH replaces as a whole. */
const replaced: ReadonlySet<string> = new Set(['model_aliases']);

/** The members in which two objects differ, as they are in each. */
function difference(old: unknown, next: unknown): readonly [old: unknown, next: unknown] {
  if (isDeepStrictEqual(old, next)) return [undefined, undefined];
  if (!isJsonObject(old) || !isJsonObject(next)) return [old, next];
  const [was, is] = [new Map<string, unknown>(), new Map<string, unknown>()];
  for (const name of new Set([...Object.keys(old), ...Object.keys(next)])) {
    const [before, after] = difference(old[name], next[name]);
    if (before !== undefined) was.set(name, before);
    if (after !== undefined) is.set(name, after);
  }
  return [Object.fromEntries(was), Object.fromEntries(is)];
}

/** Some bodies name a field in camel case that answers name otherwise, such as `rateLimitPerMinute`. */
function snakeCase(field: string): string {
  return field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The bound of the walk; the store cuts what is deeper than it keeps. */
const depthMax = 8;

function without(value: unknown, depth = 0): unknown {
  if (depth > depthMax) return null;
  if (Array.isArray(value)) return value.map((item) => without(item, depth + 1));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, inner]) => !leftOut.has(name) && inner !== undefined)
      .map(([name, inner]) => [name, without(inner, depth + 1)]),
  );
}
