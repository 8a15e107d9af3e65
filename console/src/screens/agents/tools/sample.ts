type Schema = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Beyond this depth a schema that refers to itself is left out. */
const depthMax = 6;

/** A value that begins to fit a JSON Schema: its examples and defaults, else an empty value of each type. */
export function sampleOf(schema: unknown, depth = 0): unknown {
  if (!isObject(schema) || depth > depthMax) return depth === 0 ? {} : null;
  const { default: given, examples, example, enum: values, properties, items } = schema;
  const type: unknown = Array.isArray(schema['type']) ? (schema['type'] as unknown[])[0] : schema['type'];
  if (given !== undefined) return given;
  if (example !== undefined) return example;
  if (Array.isArray(examples) && examples.length > 0) return examples[0] as unknown;
  if (Array.isArray(values) && values.length > 0) return values[0] as unknown;
  if (type === 'object' || isObject(properties)) {
    const members = isObject(properties) ? Object.entries(properties) : [];
    return Object.fromEntries(members.map(([name, inner]) => [name, sampleOf(inner, depth + 1)]));
  }
  if (type === 'array') return items === undefined ? [] : [sampleOf(items, depth + 1)];
  if (type === 'number' || type === 'integer') return 0;
  if (type === 'boolean') return false;
  return type === 'null' ? null : '';
}
