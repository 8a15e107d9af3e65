/**
 * A value that fits a JSON Schema, made from a text by simple rules, so that a test can tell it beforehand. What the
 * text names (`city: Rome`, `city=Rome`) is taken; a number is the next number of the text; anything else is the text
 * itself, or the first value that the schema allows.
 */
import { isRecord } from '../reply-json.js';
import { inFormat, isKnownFormat } from './formats.js';

type Schema = Readonly<Record<string, unknown>>;

/** Deeper schemas refer to themselves: what is below becomes null. */
const depthMax = 16;
/** A schema of a stranger may ask for a list of a billion items. */
const valuesMax = 2_000;
const textMax = 10_000;
/** Of a field's name in the text; further ones are not looked at. */
const mentionsMax = 20;

export function fillSchema(schema: Schema, text: string): unknown {
  return new Filling(schema, text.slice(0, textMax)).value(schema, undefined, 0);
}

class Filling {
  readonly #root: Schema;
  readonly #text: string;
  readonly #numbers: readonly number[];
  #numbersUsed = 0;
  #values = 0;

  constructor(root: Schema, text: string) {
    this.#root = root;
    this.#text = text;
    this.#numbers = (text.match(/-?\d+(?:\.\d+)?/g) ?? []).map(Number).filter(Number.isFinite);
  }

  value(given: unknown, name: string | undefined, depth: number): unknown {
    this.#values += 1;
    if (depth > depthMax || this.#values > valuesMax) return null;
    const schema = this.#resolved(given);
    if (schema === undefined) return null;
    if ('const' in schema) return schema['const'];
    const choices = schema['enum'];
    if (Array.isArray(choices)) return this.#choice(choices, name);
    const alternatives = schema['anyOf'] ?? schema['oneOf'];
    if (Array.isArray(alternatives)) return this.value(alternatives[0], name, depth + 1);
    if (Array.isArray(schema['allOf'])) return this.value(merged(schema), name, depth + 1);
    return this.#ofType(typeOf(schema), schema, name, depth);
  }

  #ofType(type: string, schema: Schema, name: string | undefined, depth: number): unknown {
    switch (type) {
      case 'object':
        return this.#object(schema, depth);
      case 'array':
        return this.#array(schema, name, depth);
      case 'integer':
      case 'number':
        return this.#number(schema, name, type === 'integer');
      case 'boolean':
        return !/^(?:false|no|off)$/i.test(this.#named(name) ?? 'true');
      case 'null':
        return null;
      default:
        return this.#string(schema, name);
    }
  }

  /** Local references only: no schema makes this process fetch anything. */
  #resolved(given: unknown): Schema | undefined {
    let schema = given;
    for (let step = 0; step < depthMax; step += 1) {
      if (!isRecord(schema)) return given === true ? {} : undefined;
      const reference = schema['$ref'];
      if (typeof reference !== 'string') return schema;
      if (!reference.startsWith('#')) return undefined;
      schema = at(this.#root, reference.slice(1));
    }
    return undefined;
  }

  /** What is required, and what the text names. */
  #object(schema: Schema, depth: number): Schema {
    const properties = isRecord(schema['properties']) ? schema['properties'] : {};
    const required: readonly unknown[] = Array.isArray(schema['required']) ? schema['required'] : [];
    const filled: Record<string, unknown> = {};
    for (const [name, property] of Object.entries(properties)) {
      if (!required.includes(name) && this.#named(name) === undefined) continue;
      Object.defineProperty(filled, name, {
        value: this.value(property, name, depth + 1),
        enumerable: true,
        configurable: true,
        writable: true,
      });
    }
    return filled;
  }

  #array(schema: Schema, name: string | undefined, depth: number): readonly unknown[] {
    const least = typeof schema['minItems'] === 'number' ? schema['minItems'] : 1;
    const most = typeof schema['maxItems'] === 'number' ? schema['maxItems'] : least;
    const count = Math.max(0, Math.min(Math.max(1, least), most, valuesMax - this.#values));
    return Array.from({ length: count }, () => this.value(schema['items'] ?? {}, name, depth + 1));
  }

  /** Finite, since JSON has no other number. */
  #number(schema: Schema, name: string | undefined, isInteger: boolean): number {
    const named = Number(this.#named(name) ?? Number.NaN);
    const next = Number.isFinite(named) ? named : (this.#numbers[this.#numbersUsed++] ?? 1);
    const least = bound(schema, 'minimum', 'exclusiveMinimum', 1) ?? Number.NEGATIVE_INFINITY;
    const most = bound(schema, 'maximum', 'exclusiveMaximum', -1) ?? Number.POSITIVE_INFINITY;
    const inside = Math.min(most, Math.max(least, next));
    if (!isInteger) return inside;
    return Math.trunc(inside) < least ? Math.ceil(inside) : Math.trunc(inside);
  }

  #string(schema: Schema, name: string | undefined): string {
    const format = schema['format'];
    const named = this.#named(name);
    if (isKnownFormat(format)) return inFormat(format, named);
    const most = typeof schema['maxLength'] === 'number' ? schema['maxLength'] : textMax;
    const least = typeof schema['minLength'] === 'number' ? schema['minLength'] : 0;
    const value = named ?? (this.#text === '' ? 'text' : this.#text);
    return value.slice(0, Math.max(0, most)).padEnd(Math.min(least, textMax), '.');
  }

  #choice(choices: readonly unknown[], name: string | undefined): unknown {
    const said = (this.#named(name) ?? this.#text).toLowerCase();
    return (
      choices.find((one) => typeof one === 'string' && said.includes(one.toLowerCase())) ?? choices[0] ?? null
    );
  }

  /** `name: value` or `name=value`; the value may stand in quotes, else it ends with the word. */
  #named(name: string | undefined): string | undefined {
    if (name === undefined) return undefined;
    const [text, wanted] = [this.#text.toLowerCase(), name.toLowerCase()];
    if (wanted === '') return undefined;
    let at = -1;
    for (let mention = 0; mention < mentionsMax; mention += 1) {
      at = text.indexOf(wanted, at + 1);
      if (at === -1) return undefined;
      if (/\w/.test(text[at - 1] ?? '')) continue;
      const found = /^\s*[:=]\s*(?:"([^"]*)"|'([^']*)'|([^\s,;]+))/.exec(this.#text.slice(at + name.length));
      if (found !== null) return found[1] ?? found[2] ?? found[3];
    }
    return undefined;
  }
}

function typeOf(schema: Schema): string {
  const { type } = schema;
  if (typeof type === 'string') return type;
  if (Array.isArray(type)) return String(type.find((one) => one !== 'null') ?? 'null');
  if ('properties' in schema) return 'object';
  return 'items' in schema ? 'array' : 'string';
}

function bound(schema: Schema, inclusive: string, exclusive: string, step: number): number | undefined {
  const beyond = schema[exclusive];
  if (typeof beyond === 'number') return beyond + step;
  const until = schema[inclusive];
  return typeof until === 'number' ? until : undefined;
}

/** The parts of `allOf` as one object. */
function merged(schema: Schema): Schema {
  const { allOf: parts, ...own } = schema;
  const all = [own, ...(Array.isArray(parts) ? parts.filter(isRecord) : [])];
  const properties = Object.fromEntries(
    all.flatMap((part) => (isRecord(part['properties']) ? Object.entries(part['properties']) : [])),
  );
  const required = all.flatMap((part): unknown[] =>
    Array.isArray(part['required']) ? part['required'] : [],
  );
  return { ...Object.assign({}, ...all), properties, required };
}

/** What a JSON pointer names, if it can be read. */
function at(root: Schema, pointer: string): unknown {
  let value: unknown = root;
  for (const step of pointer.split('/').slice(1)) {
    const key = decoded(step)?.replaceAll('~1', '/').replaceAll('~0', '~');
    value = key !== undefined && isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  }
  return value;
}

function decoded(step: string): string | undefined {
  try {
    return decodeURIComponent(step);
  } catch {
    return undefined;
  }
}
