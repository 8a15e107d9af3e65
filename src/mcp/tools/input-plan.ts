import { z } from 'zod';
import { didYouMean } from '../../kernel/closest-name.js';
import { invalidField, PlatformError } from '../../kernel/errors.js';
import type { Operation } from '../../http/operations/index.js';
import { argumentText } from './argument-text.js';
import type { Arguments, JsonSchema, OperationInput, Tool } from './tool.js';

/** Where an argument of a tool goes in the request to its operation. */
type Place =
  | { readonly in: 'path' | 'query' | 'body' | 'header'; readonly name: string }
  /** Only the tool's own `run` reads it. */
  | { readonly in: 'run' };

/** The arguments of a tool, and how they become a request to its operation. */
export interface InputPlan {
  readonly schema: JsonSchema;
  /** Whether the answer is a list that comes in pages. */
  readonly isPaged: boolean;
  /** Throws if an argument is unknown, or one of the path missing. The operation checks the values. */
  place(args: Arguments, tenantId: string): OperationInput;
  /** The ids in the path of the request, as far as the arguments give them. */
  subject(args: Arguments, tenantId: string): Readonly<Record<string, string>>;
}

/** A longer one is no id. */
const idCharactersMax = 200;

export function inputPlanOf(tool: Tool, operation: Operation): InputPlan {
  const found = fieldsOf(tool, operation);
  const places = new Map(found.map(({ argument, place }) => [argument, place]));
  const schema: JsonSchema = {
    type: 'object',
    properties: Object.fromEntries(found.map(({ argument, schema: property }) => [argument, property])),
    required: found.filter(({ required }) => required).map(({ argument }) => argument),
    additionalProperties: false,
  };
  const fixed = Object.entries(tool.fixed ?? {});
  const omitted = found.filter(({ without }) => without.length > 0);
  const inQuery = propertiesOf(operation.query);
  const tenantParams = Object.entries(tool.params ?? {}).flatMap(([name, argument]) =>
    argument === null ? [name] : [],
  );
  return {
    schema,
    isPaged: places.has('limit') && places.has('cursor'),
    place(args, tenantId) {
      const parts = {
        path: {} as Record<string, string>,
        query: {} as Record<string, string>,
        body: {} as Record<string, unknown>,
        header: {} as Record<string, string>,
      };
      for (const name of tenantParams) parts.path[name] = tenantId;
      for (const [name, value] of Object.entries(args)) {
        const place = places.get(name);
        if (place === undefined) throw unknownArgument(name, places.keys());
        refuseOmitted(name, value, omitted);
        if (place.in === 'run' || value === undefined) continue;
        if (place.in === 'body') parts.body[place.name] = value;
        else parts[place.in][place.name] = argumentText(name, value);
      }
      for (const { argument, place } of found) {
        // The operation would take it for the id of something that does not exist.
        if (place.in === 'path' && parts.path[place.name] === undefined) throw missingArgument(argument);
      }
      for (const [name, value] of fixed) {
        if (name in inQuery) parts.query[name] = String(value);
        else parts.body[name] = value;
      }
      if (tool.variant !== undefined) {
        const { type = tool.variant } = parts.body;
        if (type !== tool.variant) throw invalidField('type', `must be ${tool.variant}, or left out`);
        parts.body['type'] = type;
      }
      return { params: parts.path, query: parts.query, body: parts.body, headers: parts.header };
    },
    subject(args, tenantId) {
      const ids = Object.fromEntries(tenantParams.map((name) => [name, tenantId]));
      for (const { argument, place } of found) {
        const value = args[argument];
        if (place.in !== 'path' || typeof value !== 'string' || value.length > idCharactersMax) continue;
        ids[place.name] = value;
      }
      return ids;
    },
  };
}

interface Field {
  readonly argument: string;
  readonly place: Place;
  readonly schema: JsonSchema;
  readonly required: boolean;
  /** Fields of its value that the tool does not offer. */
  readonly without: readonly string[];
}

function fieldsOf(tool: Tool, operation: Operation): readonly Field[] {
  const hidden = new Set([...(tool.omit ?? []), ...Object.keys(tool.fixed ?? {})]);
  const fields = new Map<string, Field>();
  const add = (field: Omit<Field, 'without'>): void => {
    const own = tool.arguments?.[field.argument];
    const without = (tool.omit ?? []).flatMap((path) => {
      const [argument, ...nested] = path.split('.');
      return argument === field.argument && nested.length > 0 ? [nested.join('.')] : [];
    });
    const isOfVariant = tool.variant !== undefined && field.argument === 'type';
    const isFilledIn = isOfVariant || (tool.optional?.includes(field.argument) ?? false);
    const required = (field.required && !isFilledIn) || (tool.required?.includes(field.argument) ?? false);
    fields.set(field.argument, {
      ...field,
      required,
      without,
      schema: own ?? lessFields(field.schema, without),
    });
  };
  for (const [name, schema] of Object.entries(propertiesOf(operation.params))) {
    const argument = tool.params?.[name] === undefined ? name : tool.params[name];
    if (argument !== null) add({ argument, place: { in: 'path', name }, schema, required: true });
  }
  const query = objectSchemaOf(operation.query);
  for (const [name, schema] of Object.entries(query.properties)) {
    if (!hidden.has(name))
      add({
        argument: name,
        place: { in: 'query', name },
        schema: plainQuery(schema),
        required: query.required.has(name),
      });
  }
  const body = bodySchemaOf(operation, tool.variant);
  for (const [name, schema] of Object.entries(body.properties)) {
    if (!hidden.has(name))
      add({ argument: name, place: { in: 'body', name }, schema, required: body.required.has(name) });
  }
  for (const [name, argument] of Object.entries(tool.headers ?? {})) {
    add({ argument, place: { in: 'header', name }, schema: { type: 'string' }, required: false });
  }
  for (const [argument, schema] of Object.entries(tool.arguments ?? {})) {
    if (!fields.has(argument)) add({ argument, place: { in: 'run' }, schema, required: false });
  }
  return [...fields.values()];
}

function lessFields(schema: JsonSchema, without: readonly string[]): JsonSchema {
  if (without.length === 0) return schema;
  const { properties } = objectIn(schema);
  const offered = Object.entries(properties).filter(([name]) => !without.includes(name));
  return { ...schema, properties: Object.fromEntries(offered) };
}

function refuseOmitted(argument: string, value: unknown, omitted: readonly Field[]): void {
  const field = omitted.find((one) => one.argument === argument);
  if (field === undefined || typeof value !== 'object' || value === null) return;
  const name = field.without.find((one) => Object.hasOwn(value, one));
  if (name === undefined) return;
  const taken = Object.keys(objectIn(field.schema).properties).join(', ');
  throw invalidField(`${argument}.${name}`, `is not an argument of this tool. ${argument} takes ${taken}.`);
}

function unknownArgument(name: string, known: Iterable<string>): Error {
  const names = [...known];
  const hint = didYouMean(name, names);
  return invalidField(
    name,
    `is not an argument of this tool.${hint === '' ? ` It takes ${names.join(', ')}.` : hint}`,
  );
}

export function missingArgument(field: string): PlatformError {
  return new PlatformError('missing_required_field', {
    message: `${field} is required.`,
    details: { field, issue: 'required' },
  });
}

interface ObjectSchema {
  readonly properties: Readonly<Record<string, JsonSchema>>;
  readonly required: ReadonlySet<string>;
}

const nothing: ObjectSchema = { properties: {}, required: new Set() };

/** JSON Schema of a zod shape, without the line that names the dialect. */
export function jsonSchemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    target: 'draft-2020-12',
  });
  return rest;
}

function objectSchemaOf(schema: z.ZodType | undefined): ObjectSchema {
  return schema === undefined ? nothing : objectIn(jsonSchemaOf(schema, 'input'));
}

function propertiesOf(schema: z.ZodType | undefined): Readonly<Record<string, JsonSchema>> {
  return objectSchemaOf(schema).properties;
}

function objectIn(schema: JsonSchema): ObjectSchema {
  return {
    properties: (schema['properties'] ?? {}) as Record<string, JsonSchema>,
    required: new Set((schema['required'] ?? []) as string[]),
  };
}

/** The fields of a body: of an object, of the object beside null, or of the alternatives of a union together. */
function bodySchemaOf(operation: Operation, variant: string | undefined): ObjectSchema {
  if (operation.body === undefined || operation.bodyRules.form === 'raw') return nothing;
  const schema = jsonSchemaOf(operation.body, 'input');
  const alternatives = ((schema['oneOf'] ?? schema['anyOf'] ?? [schema]) as JsonSchema[]).filter(
    ({ type }) => type === 'object',
  );
  const chosen = alternatives.map(objectIn).filter(({ properties }) => {
    return variant === undefined || properties['type']?.['const'] === variant;
  });
  return chosen.length > 1 ? merged(chosen) : (chosen[0] ?? nothing);
}

function merged(alternatives: readonly ObjectSchema[]): ObjectSchema {
  const names = new Set(alternatives.flatMap(({ properties }) => Object.keys(properties)));
  const properties: Record<string, JsonSchema> = {};
  for (const name of names) {
    const forms = alternatives.flatMap((one): readonly JsonSchema[] => {
      const form = one.properties[name];
      return form === undefined ? [] : [form];
    });
    const distinct = [...new Map(forms.map((form) => [JSON.stringify(form), form] as const)).values()];
    const constants = distinct.flatMap((form) => (form['const'] === undefined ? [] : [form['const']]));
    if (distinct.length === 1) properties[name] = distinct[0] ?? {};
    else if (constants.length === distinct.length) properties[name] = { type: 'string', enum: constants };
    else properties[name] = { anyOf: distinct };
  }
  const required = [...names].filter((name) => alternatives.every((one) => one.required.has(name)));
  return { properties, required: new Set(required) };
}

/** Texts that hold a number or a flag are offered as such: a model writes `true`, not `"true"`. */
function plainQuery(schema: JsonSchema): JsonSchema {
  const { pattern, enum: values, type: _, ...rest } = schema;
  if (pattern === '^\\d+$') return { type: 'integer', minimum: 1, ...rest };
  if (Array.isArray(values) && values.includes('true') && values.includes('false'))
    return { type: 'boolean', ...rest };
  return schema;
}
