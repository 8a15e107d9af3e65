import { parse } from 'yaml';
import type { NewTool } from '../types';

type Part = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Part =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const partIn = (value: unknown, name: string): Part => {
  const inner = isObject(value) ? value[name] : undefined;
  return isObject(inner) ? inner : {};
};
const listIn = (value: unknown, name: string): readonly unknown[] => {
  const inner = isObject(value) ? value[name] : undefined;
  return Array.isArray(inner) ? inner : [];
};
const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Documents beyond this are refused: the page would stand still while it reads them. */
export const documentCharsMax = 4_000_000;
const methods = ['get', 'post', 'put', 'patch', 'delete'] as const;
const depthMax = 12;

export interface ReadDocument {
  readonly title: string;
  /** The first server of the document; empty if it names none with a host. */
  readonly server: string;
  readonly operations: readonly ReadOperation[];
}

export interface ReadOperation {
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  /** The tool for this operation of the server. */
  readonly toolAt: (server: string) => NewTool;
}

/** The operations of an OpenAPI 3 or Swagger 2 document, as JSON or YAML. Throws what is wrong with it. */
export function readOpenApi(written: string): ReadDocument {
  if (written.length > documentCharsMax) throw new Error('The document has more than 4 million characters.');
  const document = parsedDocument(written);
  if (!isObject(document) || !isObject(document['paths'])) {
    throw new Error('This is no OpenAPI document: it has no "paths".');
  }
  const used = new Set<string>();
  const operations = Object.entries(document['paths']).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const operation = isObject(item) ? item[method] : undefined;
      return isObject(operation) ? [operationOf(document, path, method, item as Part, operation, used)] : [];
    }),
  );
  return { title: text(partIn(document, 'info')['title']), server: serverOf(document), operations };
}

function parsedDocument(written: string): unknown {
  try {
    // YAML that repeats itself by reference can be small and enormous.
    return parse(written, { maxAliasCount: 1_000 });
  } catch (error) {
    throw new Error(`The document is neither JSON nor YAML: ${(error as Error).message.split('\n')[0]}`, {
      cause: error,
    });
  }
}

function serverOf(document: Part): string {
  const [server] = listIn(document, 'servers');
  const host = text(document['host']);
  const schemes = listIn(document, 'schemes');
  const url =
    host === ''
      ? text(isObject(server) ? server['url'] : undefined)
      : `${schemes.includes('https') || schemes.length === 0 ? 'https' : 'http'}://${host}${text(document['basePath'])}`;
  return /^https?:\/\//i.test(url) ? url.replace(/\/+$/, '') : '';
}

function operationOf(
  document: Part,
  path: string,
  method: string,
  item: Part,
  operation: Part,
  used: Set<string>,
): ReadOperation {
  const name = nameOf(text(operation['operationId']) || `${method} ${path}`, used);
  const summary = text(operation['summary']) || text(operation['description']);
  const description = [text(operation['summary']), text(operation['description'])]
    .filter((part, index, all) => part !== '' && all.indexOf(part) === index)
    .join('. ')
    .slice(0, 4_000);
  const given = [...listIn(item, 'parameters'), ...listIn(operation, 'parameters')]
    .map((parameter) => resolved(document, parameter, 0))
    .filter(isObject);
  const inputs = inputsOf(document, operation, given);
  const toolAt = (server: string): NewTool =>
    ({
      type: 'api',
      name,
      description: description === '' ? `${method.toUpperCase()} ${path}` : description,
      parameters: {
        type: 'object',
        properties: Object.fromEntries(inputs.map(({ name: key, schema }) => [key, schema])),
        required: inputs.filter(({ required }) => required).map(({ name: key }) => key),
      },
      editor_schema: {
        api: {
          method: method.toUpperCase(),
          url: server + path.replaceAll(/\{([^{}]+)\}/g, (_, key: string) => `\${args.${safe(key)}}`),
          ...filled('query', inputs),
          ...filled('headers', inputs),
          ...(method === 'get' ? {} : bodyOf(inputs)),
        },
      },
    }) as unknown as NewTool;
  return { method: method.toUpperCase(), path, summary, toolAt };
}

interface Input {
  /** The name of the argument. */
  readonly name: string;
  /** The name that the interface uses. */
  readonly original: string;
  readonly place: 'path' | 'query' | 'headers' | 'field' | 'body';
  readonly required: boolean;
  readonly schema: unknown;
}

/** Names of placeholders have letters, digits, `_` and `-`. */
const safe = (name: string): string => name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 100);

function inputsOf(document: Part, operation: Part, parameters: readonly Part[]): readonly Input[] {
  const places: Readonly<Record<string, Input['place']>> = {
    path: 'path',
    query: 'query',
    header: 'headers',
  };
  const inputs = parameters.flatMap((parameter): readonly Input[] => {
    const place = places[text(parameter['in'])];
    const original = text(parameter['name']);
    // Tools have an authentication of their own.
    if (place === undefined || /^(?:authorization|accept|content-type)$/i.test(original)) return [];
    const { type, enum: values } = parameter;
    const schema = isObject(parameter['schema']) ? parameter['schema'] : { type, enum: values };
    const described = { ...schema, description: text(parameter['description']) || schema['description'] };
    return [
      { name: safe(original), original, place, required: parameter['required'] === true, schema: described },
    ];
  });
  return [...inputs, ...bodyInputs(document, operation, parameters)];
}

function bodyInputs(document: Part, operation: Part, parameters: readonly Part[]): readonly Input[] {
  const content = partIn(resolved(document, operation['requestBody'], 0), 'content');
  const swagger = parameters.find((parameter) => parameter['in'] === 'body');
  const schema =
    swagger === undefined ? partIn(content['application/json'], 'schema') : partIn(swagger, 'schema');
  if (Object.keys(schema).length === 0) return [];
  const properties = Object.entries(partIn(schema, 'properties'));
  if (properties.length === 0) {
    return [{ name: 'body', original: 'body', place: 'body', required: true, schema }];
  }
  const required = listIn(schema, 'required');
  return properties.map(([original, property]) => ({
    name: safe(original),
    original,
    place: 'field',
    required: required.includes(original),
    schema: property,
  }));
}

function filled(place: 'query' | 'headers', inputs: readonly Input[]): object {
  const entries = inputs
    .filter((input) => input.place === place)
    .map(({ original, name }) => [original, `\${args.${name}}`]);
  return entries.length === 0 ? {} : { [place]: Object.fromEntries(entries) };
}

function bodyOf(inputs: readonly Input[]): object {
  const whole = inputs.find(({ place }) => place === 'body');
  if (whole !== undefined) return { body: '${args.body}' };
  const fields = inputs.filter(({ place }) => place === 'field');
  if (fields.length === 0) return {};
  return { body: Object.fromEntries(fields.map(({ original, name }) => [original, `\${args.${name}}`])) };
}

function nameOf(wanted: string, used: Set<string>): string {
  const plain = wanted
    .replaceAll(/[^A-Za-z0-9-]+/g, '_')
    .replaceAll(/_+/g, '_')
    .replaceAll(/^[^A-Za-z]+|_$/g, '');
  const base = (plain === '' ? 'operation' : plain).slice(0, 60);
  let name = base;
  for (let number = 2; used.has(name); number += 1) name = `${base}_${number}`;
  used.add(name);
  return name;
}

/** With local references replaced. What refers to itself ends at a depth; a tool needs no more of it. */
function resolved(document: Part, value: unknown, depth: number): unknown {
  if (Array.isArray(value)) return value.map((one) => resolved(document, one, depth + 1));
  if (!isObject(value)) return value;
  if (depth > depthMax) return {};
  const reference = value['$ref'];
  if (typeof reference === 'string') {
    return reference.startsWith('#/') ? resolved(document, targetOf(document, reference), depth + 1) : {};
  }
  return Object.fromEntries(
    Object.entries(value)
      // Notes for readers of the document; they are no JSON Schema.
      .filter(([name]) => !['example', 'xml', 'externalDocs', 'discriminator'].includes(name))
      .map(([name, inner]) => [name, resolved(document, inner, depth + 1)]),
  );
}

function targetOf(document: Part, reference: string): unknown {
  return reference
    .slice(2)
    .split('/')
    .map((name) => decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>(
      (place, name) => (isObject(place) && Object.hasOwn(place, name) ? place[name] : undefined),
      document,
    );
}
