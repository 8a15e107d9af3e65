// Loaded by child processes: checks the JSON Schema of a tool's arguments.
import { Ajv2020 } from 'ajv/dist/2020.js';
import { partsOfSchema, type SchemaParts } from './json-schema-parts.js';

export interface SchemaCheckInput {
  readonly [name: string]: string;
  readonly schema: string;
}

export interface JsonSchemaFault {
  /** The path within the schema, for example `properties.city.type`; empty for the schema itself. */
  readonly at: string;
  readonly issue: string;
}

export type SchemaCheck = { readonly fault: JsonSchemaFault | undefined };

/** Vendors accept a few hundred, and models use a few dozen well. */
const subschemasMax = 2_000;
const depthMax = 64;
const reasonCharsMax = 200;

/**
 * The meta-schema as a precompiled function. A tenant's schema is never added to Ajv's registry: one with the id of
 * the draft would replace the draft for every tenant. It is not compiled either: that takes up to seconds, and
 * arguments are not checked against it here. Formats are not checked, and unknown keywords are allowed, as the
 * standard says.
 */
const isSchema = draft('https://json-schema.org/draft/2020-12/schema');

export function run({ schema: json }: SchemaCheckInput): SchemaCheck {
  return { fault: faultOf(JSON.parse(json) as object) };
}

function faultOf(schema: object): JsonSchemaFault | undefined {
  const parts = partsOfSchema(schema, { subschemasMax, depthMax });
  if (parts === undefined) {
    const issue = `has more than ${subschemasMax} subschemas or more than ${depthMax} levels of nesting`;
    return { at: '', issue };
  }
  if (isSchema(schema) !== true) {
    const [first] = isSchema.errors ?? [];
    const at = (first?.instancePath ?? '').split('/').slice(1).map(unescaped).join('.');
    return { at, issue: `is not a valid JSON Schema: ${first?.message ?? 'unknown fault'}` };
  }
  if ('type' in schema && schema.type !== 'object') {
    return { at: 'type', issue: 'must be object, because arguments have names' };
  }
  return faultOfPatterns(parts) ?? faultOfReferences(schema, parts);
}

/** The patterns are parsed and never executed. */
function faultOfPatterns({ patterns }: SchemaParts): JsonSchemaFault | undefined {
  for (const { at, text } of patterns) {
    try {
      RegExp(text, 'u');
    } catch (error) {
      const reason =
        error instanceof Error ? error.message.slice(0, reasonCharsMax) : 'the pattern cannot be parsed';
      return { at, issue: `is not a valid JSON Schema: ${reason}` };
    }
  }
  return undefined;
}

/** Remote references are not fetched, and a schema has no address of its own here. */
function faultOfReferences(
  schema: object,
  { references, anchors }: SchemaParts,
): JsonSchemaFault | undefined {
  const dangling = references.find(({ text }) => !isInside(schema, text, anchors));
  if (dangling === undefined) return undefined;
  const reference = dangling.text.slice(0, reasonCharsMax);
  const issue =
    `is not a valid JSON Schema: can't resolve reference ${reference} at ${dangling.at}; ` +
    'a schema can refer only to its own parts, for example #/$defs/name';
  return { at: '', issue };
}

function isInside(schema: object, reference: string, anchors: ReadonlySet<string>): boolean {
  if (!reference.startsWith('#')) return false;
  const fragment = decoded(reference.slice(1));
  if (fragment === undefined) return false;
  if (fragment !== '' && !fragment.startsWith('/')) return anchors.has(fragment);
  let part: unknown = schema;
  for (const name of fragment.split('/').slice(1).map(unescaped)) {
    if (typeof part !== 'object' || part === null || !Object.hasOwn(part, name)) return false;
    part = Reflect.get(part, name);
  }
  return typeof part === 'boolean' || (typeof part === 'object' && part !== null && !Array.isArray(part));
}

function decoded(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment);
  } catch {
    // The text is not valid percent-encoding, so the reference has no target.
    return undefined;
  }
}

/** Unescapes a name of a JSON Pointer (RFC 6901). */
function unescaped(name: string): string {
  return name.replaceAll('~1', '/').replaceAll('~0', '~');
}

function draft(address: string) {
  const found = new Ajv2020({ strict: false, validateFormats: false, logger: false }).getSchema(address);
  if (found === undefined) throw new TypeError(`Ajv does not contain the meta-schema ${address}`);
  // Compiles the draft at load time, outside the time limit of a check.
  void found({});
  return found;
}
