import type { z } from 'zod';
import { closestName, didYouMean } from '../../kernel/closest-name.js';
import { PlatformError } from '../../kernel/errors.js';

type Schema = z.core.$ZodTypes;

/** A name in the input that the schema does not have, and the names that it has at this place. */
interface Unknown {
  readonly path: readonly string[];
  readonly known: readonly string[];
}

/** A message that lists more names than this helps nobody. */
const listedMax = 20;

/** Refuses a body with a field that the schema does not know. Records and loose objects take any name. */
export function refuseUnknownFields(
  schema: z.ZodType,
  input: unknown,
  /** Further names at the top; they have no effect. */
  allowed: readonly string[] = [],
): void {
  const found = unknownIn(schema, input, []);
  if (found === undefined) return;
  const [name = '', ...nested] = found.path;
  if (nested.length === 0 && allowed.includes(name)) {
    return refuseUnknownFields(schema, without(input, name), allowed);
  }
  const field = found.path.join('.');
  const issue = `is not a field of this request.${suggestion(found)}`;
  throw new PlatformError('unknown_field', { message: `${field} ${issue}`, details: { field, issue } });
}

/**
 * Refuses a change of nothing but fields that cannot be set: beside others they are what the client read, alone they are
 * what it wants.
 */
export function refuseWithoutEffect(schema: z.ZodType, input: unknown): void {
  if (typeof input !== 'object' || input === null) return;
  const unset = Object.entries(input).map(([name, value]) => unknownIn(schema, { [name]: value }, []));
  const [found] = unset;
  if (found === undefined || unset.some((unknown) => unknown?.path.length !== 1)) return;
  const field = found.path.join('.');
  const issue = `cannot be changed by this request.${listed(found.known)}`;
  throw new PlatformError('unknown_field', { message: `${field} ${issue}`, details: { field, issue } });
}

/**
 * Refuses a query parameter that is a mistyped one of the operation. Others are ignored: browsers, proxies and caches add
 * parameters of their own to addresses.
 */
export function refuseMistypedParameters(schema: z.ZodType, query: Readonly<Record<string, unknown>>): void {
  const known = namesOf(schema);
  const field = Object.keys(query).find(
    (name) => !known.includes(name) && closestName(name, known) !== undefined,
  );
  if (field === undefined) return;
  const issue = `is not a query parameter of this operation.${didYouMean(field, known)}`;
  throw new PlatformError('unknown_parameter', { message: `${field} ${issue}`, details: { field, issue } });
}

function namesOf(schema: z.core.$ZodType): readonly string[] {
  const { def } = (schema as Schema)._zod;
  return def.type === 'object' ? Object.keys(def.shape) : [];
}

function without(input: unknown, name: string): object {
  return Object.fromEntries(Object.entries(input as object).filter(([key]) => key !== name));
}

function suggestion({ path, known }: Unknown): string {
  const meant = didYouMean(path.at(-1) ?? '', known);
  if (meant !== '') return meant;
  return listed(known);
}

function listed(known: readonly string[]): string {
  if (known.length === 0) return ' None is known here.';
  return ` Known here: ${known.slice(0, listedMax).join(', ')}${known.length > listedMax ? ', …' : ''}.`;
}

/** The first unknown name, walking the schema and the input side by side. A value of the wrong type has none. */
function unknownIn(schema: z.core.$ZodType, input: unknown, path: readonly string[]): Unknown | undefined {
  if (typeof input !== 'object' || input === null) return undefined;
  const { def } = (schema as Schema)._zod;
  switch (def.type) {
    case 'object':
      return Array.isArray(input) ? undefined : inObject(def, input, path);
    case 'array':
      return first(input, path, () => def.element);
    case 'tuple':
      return first(input, path, (name) => def.items[Number(name)] ?? def.rest ?? undefined);
    case 'record':
      return first(input, path, () => def.valueType);
    case 'union':
      return inUnion(def, input, path);
    case 'pipe':
      // A transform before the schema (`z.preprocess`) only completes the input.
      return unknownIn((def.in as Schema)._zod.def.type === 'transform' ? def.out : def.in, input, path);
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'nonoptional':
    case 'readonly':
    case 'catch':
      return unknownIn(def.innerType, input, path);
    case 'lazy':
      return unknownIn(def.getter(), input, path);
    default:
      return undefined;
  }
}

function inObject(
  { shape, catchall }: z.core.$ZodObjectDef,
  input: object,
  path: readonly string[],
): Unknown | undefined {
  const isOpen = catchall !== undefined && (catchall as Schema)._zod.def.type !== 'never';
  const here = isOpen ? undefined : unknownKey(input, Object.keys(shape), path);
  return here ?? first(input, path, (name) => (Object.hasOwn(shape, name) ? shape[name] : undefined));
}

function unknownKey(input: object, known: readonly string[], path: readonly string[]): Unknown | undefined {
  const name = Object.keys(input).find((key) => !known.includes(key));
  return name === undefined ? undefined : { path: [...path, name], known };
}

/** The first unknown name below the values of the input. */
function first(
  input: object,
  path: readonly string[],
  schemaOf: (name: string) => z.core.$ZodType | undefined,
): Unknown | undefined {
  for (const [name, value] of Object.entries(input)) {
    const schema = schemaOf(name);
    const found = schema === undefined ? undefined : unknownIn(schema, value, [...path, name]);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The alternative that the input names by its discriminator; without one, that which comes furthest. */
function inUnion(
  def: z.core.$ZodUnionDef & { readonly discriminator?: string },
  input: object,
  path: readonly string[],
): Unknown | undefined {
  const objects = def.options.filter((option) => takes(option, input));
  const { discriminator: name } = def;
  const value = name === undefined ? undefined : (input as Record<string, unknown>)[name];
  const named =
    name === undefined || value === undefined
      ? objects
      : objects.filter((option) => hasValue(option, name, value));
  let furthest: Unknown | undefined;
  for (const option of named) {
    const found = unknownIn(option, input, path);
    if (found === undefined) return undefined;
    if (found.path.length > (furthest?.path.length ?? 0)) furthest = found;
  }
  return furthest;
}

function takes(option: z.core.$ZodType, input: object): boolean {
  const { type } = (option as Schema)._zod.def;
  const scalars = ['string', 'number', 'boolean', 'null', 'literal', 'enum', 'undefined'];
  return Array.isArray(input)
    ? type !== 'object' && !scalars.includes(type)
    : type !== 'array' && !scalars.includes(type);
}

function hasValue(option: z.core.$ZodType, name: string, value: unknown): boolean {
  return option._zod.propValues?.[name]?.has(value as z.core.util.Primitive) === true;
}
