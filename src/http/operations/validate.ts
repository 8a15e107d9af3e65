import type { z } from 'zod';
import { didYouMean } from '../../kernel/closest-name.js';
import { PlatformError } from '../../kernel/errors.js';

type Issue = z.core.$ZodIssue;

/** Returns the parsed input, or throws an error about its first issue. */
export function validate(schema: z.ZodType, input: unknown): unknown {
  const result = schema.safeParse(input, { reportInput: true });
  if (result.success) return result.data;
  throw refusalOf(result.error.issues, input);
}

function refusalOf(issues: readonly Issue[], input: unknown): PlatformError {
  const issue = deepest(issues[0]);
  if (issue === undefined) return PlatformError.again('validation_error', {});
  const field = fieldOf(issue);
  if (isMissing(issue, input)) {
    return new PlatformError('missing_required_field', {
      message: `${field} is required.`,
      details: { field, issue: 'required' },
    });
  }
  const text = issue.message + choiceMeant(issue, input);
  return new PlatformError('validation_error', {
    message: `${field}: ${text}`,
    details: { field, issue: text },
  });
}

/** For a union, picks the first issue of the alternative that parsed furthest; it is the most specific. */
function deepest(issue: Issue | undefined): Issue | undefined {
  if (issue?.code !== 'invalid_union' || issue.errors.length === 0) return issue;
  const alternatives = issue.errors.map((errors) => errors[0]).filter((first) => first !== undefined);
  const best = alternatives.toSorted((one, other) => other.path.length - one.path.length)[0];
  if (best === undefined || best.path.length === 0) return issue;
  return { ...best, path: [...issue.path, ...best.path] };
}

function fieldOf(issue: Issue): string {
  if (issue.code === 'unrecognized_keys') return [...issue.path, issue.keys[0] ?? ''].join('.');
  return issue.path.length === 0 ? 'body' : issue.path.map(String).join('.');
}

/** For a value outside of an enumeration: the choice that is nearest. */
function choiceMeant(issue: Issue, input: unknown): string {
  const given = valueAt(input, issue.path);
  if (issue.code !== 'invalid_value' || typeof given !== 'string') return '';
  const meant = didYouMean(given, issue.values.map(String));
  return meant === '' ? '' : `.${meant}`;
}

function isMissing(issue: Issue, input: unknown): boolean {
  if (issue.code !== 'invalid_type' && issue.code !== 'invalid_value' && issue.code !== 'invalid_union')
    return false;
  if (issue.path.length === 0) return false;
  // A transform before the schema may have left out what stands in the input.
  const isLeftOut = issue.code === 'invalid_type' && 'input' in issue && issue.input === undefined;
  return isLeftOut || valueAt(input, issue.path) === undefined;
}

/** The value at the path; null if the path leads through something that is no object. */
function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let value = input;
  for (const step of path) {
    if (typeof value !== 'object' || value === null) return null;
    value = (value as Record<PropertyKey, unknown>)[step];
  }
  return value;
}
