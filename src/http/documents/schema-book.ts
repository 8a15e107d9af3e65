import { z } from 'zod';
import { nameOf, sentFormOf } from '../operations/index.js';

export type Json = Readonly<Record<string, unknown>>;
type Way = 'input' | 'output';

/** What a request may send and an answer has can differ for one schema, so both are kept until all are known. */
const sentMark = '.sent';
const place = '#/components/schemas/';
const sentForm = 'x-sent-form';
const jsonValue = 'JsonValue';

/**
 * The schemas of the document. Those with a name are described once, in `components`; where requests and answers differ,
 * the form of requests has `Input` at the end of its name.
 */
export class SchemaBook {
  readonly #schemas = new Map<string, Json>();
  /** Schemas to write as requests have them; zod's result can hold only their places. */
  readonly #sent: z.core.$ZodType[] = [];

  add(name: string, schema: Json): void {
    this.#schemas.set(name, schema);
  }

  /** The schema as the document writes it, before `completed`. */
  write(schema: z.core.$ZodType, way: Way): Json {
    const { $schema: _, $defs: found, ...written } = this.#convert(schema, way);
    const names = new Map<string, string>();
    const definitions = Object.entries((found ?? {}) as Record<string, Json>);
    for (const [name, definition] of definitions) names.set(name, definedName(name, definition));
    for (const [name, definition] of definitions) {
      this.#schemas.set(names.get(name) ?? name, this.#tidied(definition, way, names));
    }
    return this.#tidied(written, way, names);
  }

  #convert(schema: z.core.$ZodType, way: Way): Json {
    return z.toJSONSchema(schema, {
      io: way,
      unrepresentable: 'any',
      target: 'draft-2020-12',
      metadata: new Registry(way, this.#sent),
    });
  }

  #tidied<Value>(value: Value, way: Way, names: ReadonlyMap<string, string>): Value {
    if (Array.isArray(value)) return value.map((each: unknown) => this.#tidied(each, way, names)) as Value;
    if (typeof value !== 'object' || value === null) return value;
    const sent = this.#sent[Number((value as Json)[sentForm] ?? -1)];
    if (sent !== undefined) return this.write(sent, 'input') as Value;
    const tidy: Record<string, unknown> = {};
    for (const [key, each] of Object.entries(value as Json)) {
      if (isNoise(value as Json, key, each, way)) continue;
      tidy[key] = key === '$ref' ? referenceTo(String(each), names) : this.#tidied(each, way, names);
    }
    return tidy as Value;
  }

  /** The document with all references final, and the schemas in the order of their names. */
  completed<Document extends Json>(document: Document): { document: Document; schemas: Json } {
    const rename = this.#finalNames();
    const final = <Value>(value: Value): Value => renamed(value, rename) as Value;
    const schemas = [...this.#schemas].map(
      ([name, schema]) => [rename(name), final(this.#withDiscriminator(schema))] as const,
    );
    return {
      document: final(document),
      schemas: Object.fromEntries(schemas.toSorted(([one], [other]) => (one < other ? -1 : 1))),
    };
  }

  /** Alternatives that one constant field tells apart, for generators that do not look for it. */
  #withDiscriminator(schema: Json): Json {
    const places = ((schema['oneOf'] ?? []) as readonly Json[]).map(({ $ref }) => $ref);
    const fields = places.map((at) => {
      const found = typeof at === 'string' ? this.#schemas.get(at.slice(place.length)) : undefined;
      return (found?.['properties'] ?? {}) as Readonly<Record<string, Json>>;
    });
    const [first = {}] = fields;
    const propertyName = Object.keys(first).find((name) =>
      fields.every((each) => each[name]?.['const'] !== undefined),
    );
    if (propertyName === undefined) return schema;
    const mapping = fields.map((each, at) => [each[propertyName]?.['const'], places[at]] as const);
    return { ...schema, discriminator: { propertyName, mapping: Object.fromEntries(mapping) as Json } };
  }

  #finalNames(): (name: string) => string {
    const sent = [...this.#schemas.keys()].filter((name) => name.endsWith(sentMark));
    const plain = (name: string): string =>
      name.endsWith(sentMark) ? name.slice(0, -sentMark.length) : name;
    const different = new Set<string>();
    const final = (name: string): string => (different.has(name) ? `${plain(name)}Input` : plain(name));
    // A schema that refers to one which differs, differs too.
    for (let before = -1; before < different.size;) {
      before = different.size;
      for (const name of sent) {
        const answered = this.#schemas.get(plain(name));
        if (answered === undefined || different.has(name)) continue;
        const [one, other] = [this.#schemas.get(name), answered].map((each) =>
          JSON.stringify(renamed(each, final)),
        );
        if (one !== other) different.add(name);
      }
    }
    return final;
  }
}

/** Zod's own registry with its descriptions, and the names of the documents as ids. */
class Registry extends z.core.$ZodRegistry<Record<string, unknown>> {
  readonly #way: Way;
  readonly #sent: z.core.$ZodType[];

  constructor(way: Way, sent: z.core.$ZodType[]) {
    super();
    this.#way = way;
    this.#sent = sent;
  }

  override get(schema: z.core.$ZodType): Record<string, unknown> {
    const name = nameOf(schema);
    const sent = sentFormOf(schema);
    return {
      ...z.globalRegistry.get(schema),
      ...(sent !== undefined && { [sentForm]: this.#sent.push(sent) - 1 }),
      ...(name !== undefined && { id: this.#way === 'input' ? `${name}${sentMark}` : name }),
    };
  }
}

/** Zod numbers schemas that refer to themselves; here, only any JSON value does. */
function definedName(name: string, { anyOf }: Json): string {
  if (!name.startsWith('__schema')) return name;
  if (Array.isArray(anyOf)) return jsonValue;
  throw new Error(`a schema that refers to itself has no name: give it one with named()`);
}

/** Formats whose patterns only repeat them. */
const formatsWithPattern = new Set([
  'uuid',
  'date-time',
  'date',
  'email',
  'ipv4',
  'ipv6',
  'cidrv4',
  'cidrv6',
]);

function isNoise(schema: Json, key: string, value: unknown, way: Way): boolean {
  // Not every reader of patterns knows the properties of Unicode.
  if (key === 'pattern')
    return formatsWithPattern.has(String(schema['format'])) || /\\p\{/i.test(String(value));
  if (key === 'maximum' || key === 'exclusiveMaximum') return value === Number.MAX_SAFE_INTEGER;
  if (key === 'minimum') return value === Number.MIN_SAFE_INTEGER;
  // Answers may get further fields.
  return key === 'additionalProperties' && way === 'output' && value === false;
}

function referenceTo(reference: string, names: ReadonlyMap<string, string>): string {
  const name = reference.replace('#/$defs/', '');
  return `${place}${names.get(name) ?? name}`;
}

function renamed(value: unknown, rename: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((each) => renamed(each, rename));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]: [string, unknown]) => {
      const isReference = typeof each === 'string' && each.startsWith(place);
      return [key, isReference ? `${place}${rename(each.slice(place.length))}` : renamed(each, rename)];
    }),
  );
}
