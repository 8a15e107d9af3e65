import { invalidField } from '../../kernel/errors.js';
import { toolContext, wasRedacted } from './declared-context.js';
import { derivableText, type SessionField } from './derived-session.js';
import { type FlatObject } from './flat-object.js';

const namesMax = 5;
const nameCharactersMax = 2_000;

/** The named fields with their values, in the order of the names, as `derivedSessionId` takes them. */
export function readSessionFrom(value: unknown, sources: SessionSources): readonly SessionField[] {
  const names = readNames(value);
  const { context, bindings, declared } = sources;
  const effective = toolContext(context, bindings);
  const fields = names.map((name) => {
    // A secret must not become part of an identity; also, two secrets that were redacted alike would share one
    // session.
    if (wasRedacted(declared, name) && !Object.hasOwn(bindings, name))
      throw invalidField(
        'session_from',
        `the value of ${name} looks like a secret and was redacted; use another field`,
      );
    return { name, value: Object.hasOwn(effective, name) ? effective[name] : undefined };
  });
  if (fields.every((field) => derivableText(field) === ''))
    throw invalidField('session_from', 'none of the named fields has a value in context or bindings');
  return fields;
}

export interface SessionSources {
  readonly context: FlatObject;
  readonly bindings: FlatObject;
  /** The context in its stored form. */
  readonly declared: FlatObject;
}

function readNames(value: unknown): readonly string[] {
  if (!Array.isArray(value) || value.length < 1 || value.length > namesMax)
    throw invalidField('session_from', `must be a list of 1 to ${namesMax} field names`);
  return value.map((name: unknown) => {
    if (typeof name !== 'string' || name === '' || name.length > nameCharactersMax)
      throw invalidField('session_from', `must contain field names of 1 to ${nameCharactersMax} characters`);
    return name;
  });
}
