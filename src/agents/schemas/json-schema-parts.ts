/**
 * The parts of a JSON Schema (2020-12), found by its keywords. The schema may be malformed: unexpected values are
 * skipped.
 */
export interface SchemaParts {
  readonly subschemas: number;
  readonly patterns: readonly Located[];
  /** The targets of `$ref` and `$dynamicRef`. */
  readonly references: readonly Located[];
  /** The names that `#name` may refer to. */
  readonly anchors: ReadonlySet<string>;
}

export interface Located {
  /** The path within the schema, for example `properties.city.pattern`. */
  readonly at: string;
  readonly text: string;
}

export interface PartLimits {
  readonly subschemasMax: number;
  readonly depthMax: number;
}

/** Keywords of the present draft, and of older drafts that tools still write. */
const schemaKeywords = [
  'additionalProperties',
  'contains',
  'contentSchema',
  'else',
  'if',
  'items',
  'not',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
];
const listKeywords = ['allOf', 'anyOf', 'oneOf', 'prefixItems'];
const mapKeywords = [
  '$defs',
  'definitions',
  'dependencies',
  'dependentSchemas',
  'patternProperties',
  'properties',
];

/** Undefined if the schema exceeds the limits; the walk stops there. */
export function partsOfSchema(
  root: unknown,
  { subschemasMax, depthMax }: PartLimits,
): SchemaParts | undefined {
  const patterns: Located[] = [];
  const references: Located[] = [];
  const anchors = new Set<string>();
  let subschemas = 0;

  const walk = (schema: unknown, at: string, depth: number): boolean => {
    if (!isObject(schema)) return true;
    subschemas += 1;
    if (subschemas > subschemasMax || depth > depthMax) return false;
    note(schema, 'pattern', at, patterns);
    note(schema, '$ref', at, references);
    note(schema, '$dynamicRef', at, references);
    for (const keyword of ['$anchor', '$dynamicAnchor']) {
      const name = own(schema, keyword);
      if (typeof name === 'string') anchors.add(name);
    }
    const maps = mapKeywords.map((keyword) => [keyword, own(schema, keyword)] as const);
    for (const [keyword, map] of maps) {
      if (keyword !== 'patternProperties' || !isObject(map)) continue;
      for (const text of Object.keys(map)) patterns.push({ at: below(at, keyword), text });
    }
    return (
      schemaKeywords.every((keyword) => walk(own(schema, keyword), below(at, keyword), depth + 1)) &&
      [...listKeywords.map((keyword) => [keyword, own(schema, keyword)] as const), ...maps].every(
        ([keyword, held]) =>
          typeof held !== 'object' ||
          held === null ||
          Object.entries(held).every(([name, one]) => walk(one, below(below(at, keyword), name), depth + 1)),
      )
    );
  };

  return walk(root, '', 1) ? { subschemas, patterns, references, anchors } : undefined;
}

function note(schema: object, keyword: string, at: string, into: Located[]): void {
  const text = own(schema, keyword);
  if (typeof text === 'string') into.push({ at: below(at, keyword), text });
}

function own(schema: object, keyword: string): unknown {
  return Object.hasOwn(schema, keyword) ? Reflect.get(schema, keyword) : undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function below(at: string, name: string): string {
  return at === '' ? name : `${at}.${name}`;
}
