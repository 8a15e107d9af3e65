/** An HTTP tool from an operation of an OpenAPI document (3.x). */
import { z } from 'zod';
import { didYouMean } from '../../kernel/closest-name.js';
import { invalidField } from '../../kernel/errors.js';
import { isJsonObject, type JsonObject } from '../../http/operations/index.js';
import { OpenApiSchemas } from './openapi-schemas.js';

const methods = ['get', 'post', 'put', 'patch', 'delete'] as const;
const nameCharsMax = 64;
const descriptionCharsMax = 4_000;
const addressCharsMax = 2_000;
/** Of the document's operations, those that a mistyped name is compared with. */
const comparedMax = 1_000;

export const openApiSource = z.object({
  document: z
    .record(z.string(), z.unknown())
    .describe('The OpenAPI document (3.x) as an object, or the part of it that the operation needs.'),
  operation_id: z.string().min(1).max(500).optional().describe('The operationId; else give path and method.'),
  path: z.string().min(1).max(2_000).optional().describe('The path as the document writes it.'),
  method: z.enum(methods).optional(),
  server: z.string().min(1).max(1_000).optional().describe('The base address, if not the first of servers.'),
});

type Source = z.output<typeof openApiSource>;

/** What the document says of the tool. The credential is not part of it. */
export interface OpenApiTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonObject;
  readonly api: JsonObject;
}

interface Operation {
  readonly path: string;
  readonly method: (typeof methods)[number];
  readonly item: JsonObject;
  readonly operation: JsonObject;
}

export function toolFromOpenApi(given: unknown): OpenApiTool {
  const read = openApiSource.safeParse(given);
  if (!read.success) {
    const [issue] = read.error.issues;
    throw invalidField(['openapi', ...(issue?.path ?? [])].join('.'), issue?.message ?? 'is not valid');
  }
  const { document } = read.data;
  if (!textOf(document['openapi']).startsWith('3.')) {
    throw invalidField('openapi.document', 'must be an OpenAPI document of version 3');
  }
  const schemas = new OpenApiSchemas(document);
  const found = operationOf(read.data, schemas);
  const builder = new RequestBuilder(schemas);
  for (const parameter of parametersOf(found, schemas)) builder.addParameter(parameter);
  builder.addBody(schemas.resolved(found.operation['requestBody']));
  return {
    name: nameOf(found),
    description: [found.operation['summary'], found.operation['description']]
      .map(textOf)
      .filter((text) => text !== '')
      .join('\n\n')
      .slice(0, descriptionCharsMax),
    parameters: builder.schema,
    api: {
      method: found.method.toUpperCase(),
      url: serverOf(read.data, found) + builder.pathOf(found.path),
      ...builder.request,
    },
  };
}

function operationOf(
  { document, operation_id: id, path, method }: Source,
  schemas: OpenApiSchemas,
): Operation {
  if (id === undefined && (path === undefined || method === undefined)) {
    throw invalidField('openapi.operation_id', 'is required, or path and method');
  }
  const paths = isJsonObject(document['paths']) ? document['paths'] : {};
  const all = Object.entries(paths).flatMap(([at, given]): Operation[] => {
    const item = schemas.resolved(given);
    return methods.flatMap((name) => {
      const operation = item[name];
      return isJsonObject(operation) ? [{ path: at, method: name, item, operation }] : [];
    });
  });
  const found = all.find((one) =>
    id === undefined ? one.path === path && one.method === method : one.operation['operationId'] === id,
  );
  if (found !== undefined) return found;
  if (id === undefined) throw invalidField('openapi.path', 'has no operation of this method in the document');
  const known = all
    .map(({ operation }) => textOf(operation['operationId']))
    .filter((name) => name !== '')
    .slice(0, comparedMax);
  throw invalidField('openapi.operation_id', `names no operation of the document.${didYouMean(id, known)}`);
}

/** The parameters of the operation replace those of its path with the same name and place. */
function parametersOf({ item, operation }: Operation, schemas: OpenApiSchemas): readonly JsonObject[] {
  const byPlace = new Map<string, JsonObject>();
  for (const given of [item['parameters'], operation['parameters']]) {
    for (const each of Array.isArray(given) ? (given as unknown[]) : []) {
      const parameter = schemas.resolved(each);
      byPlace.set(`${textOf(parameter['in'])} ${textOf(parameter['name'])}`, parameter);
    }
  }
  return [...byPlace.values()];
}

/** Set by the tool itself, or by its credential. */
const ownHeaders = new Set(['accept', 'content-type', 'authorization']);
const jsonType = /^application\/(?:[\w.+-]+\+)?json\b/i;
const formType = 'application/x-www-form-urlencoded';

/** The arguments of the tool, and where its request has them. */
class RequestBuilder {
  readonly #schemas: OpenApiSchemas;
  readonly #properties = new Map<string, unknown>();
  readonly #required: string[] = [];
  readonly #inPath = new Map<string, string>();
  readonly #query: Record<string, string> = {};
  readonly #headers: Record<string, string> = {};
  #body: unknown;

  constructor(schemas: OpenApiSchemas) {
    this.#schemas = schemas;
  }

  get schema(): JsonObject {
    return {
      type: 'object',
      properties: Object.fromEntries(this.#properties),
      ...(this.#required.length > 0 && { required: this.#required }),
      additionalProperties: false,
    };
  }

  get request(): JsonObject {
    return {
      ...(Object.keys(this.#query).length > 0 && { query: this.#query }),
      ...(Object.keys(this.#headers).length > 0 && { headers: this.#headers }),
      ...(this.#body !== undefined && { body: this.#body }),
    };
  }

  pathOf(path: string): string {
    return path.replaceAll(/\{([^{}]+)\}/g, (_, name: string) => {
      const placeholder = this.#inPath.get(name);
      if (placeholder !== undefined) return placeholder;
      throw invalidField('openapi.document', `declares no parameter for {${name}} in the path ${path}`);
    });
  }

  addParameter(parameter: JsonObject): void {
    const [name, place] = [textOf(parameter['name']), textOf(parameter['in'])];
    const isRequired = place === 'path' || parameter['required'] === true;
    if (place === 'path') this.#inPath.set(name, this.#argument(name, place, parameter, isRequired));
    else if (place === 'query') this.#query[name] = this.#argument(name, place, parameter, isRequired);
    // A header without a value would be sent empty, so only those that are always there are arguments.
    else if (place === 'header' && isRequired && !ownHeaders.has(name.toLowerCase()))
      this.#headers[name] = this.#argument(name, place, parameter, isRequired);
    else if (place === 'cookie' && isRequired)
      throw invalidField('openapi.operation_id', `needs the cookie ${name}, which a tool cannot send`);
  }

  addBody({ content, required }: JsonObject): void {
    if (!isJsonObject(content)) return;
    const types = Object.keys(content);
    const type = types.find((one) => jsonType.test(one)) ?? types.find((one) => one.startsWith(formType));
    if (type === undefined) {
      if (required !== true) return;
      throw invalidField(
        'openapi.operation_id',
        `takes a body of ${types.join(' or ')}; a tool sends JSON or a form`,
      );
    }
    const media = content[type];
    const schema = this.#schemas.whole(isJsonObject(media) ? media['schema'] : undefined);
    if (!jsonType.test(type)) this.#headers['content-type'] = formType;
    const properties = isJsonObject(schema) ? schema['properties'] : undefined;
    if (isJsonObject(schema) && isJsonObject(properties) && Object.keys(properties).length > 0) {
      return this.#addFields(properties, required === true ? schema['required'] : []);
    }
    if (!jsonType.test(type)) throw invalidField('openapi.document', 'does not name the fields of the form');
    this.#headers['content-type'] = 'application/json';
    const description = 'The body of the request, as JSON.';
    this.#body = this.#argument('body', 'body', { schema, description }, required === true);
  }

  /** Fields of an object are arguments of their own, which models fill in more reliably than a nested object. */
  #addFields(properties: JsonObject, required: unknown): void {
    const needed = Array.isArray(required) ? (required as unknown[]) : [];
    const body: Record<string, string> = {};
    for (const [name, schema] of Object.entries(properties)) {
      if (isJsonObject(schema) && schema['readOnly'] === true) continue;
      body[name] = this.#argument(name, 'body', { schema }, needed.includes(name));
    }
    this.#body = body;
  }

  /** Declares an argument, and returns its placeholder. */
  #argument(name: string, place: string, declared: JsonObject, isRequired: boolean): string {
    const plain = name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, nameCharsMax) || place;
    const argument = this.#properties.has(plain) ? `${plain}_${place}` : plain;
    if (this.#properties.has(argument)) {
      throw invalidField('openapi.operation_id', `has two parameters that would both be called ${argument}`);
    }
    const schema = this.#schemas.whole(schemaOf(declared));
    const description = textOf(declared['description']);
    const shown = isJsonObject(schema) ? schema : {};
    this.#properties.set(argument, description === '' ? shown : { ...shown, description });
    if (isRequired) this.#required.push(argument);
    return `\${args.${argument}}`;
  }
}

/** A parameter has a schema, or one content with a schema. */
function schemaOf({ schema, content }: JsonObject): unknown {
  if (schema !== undefined || !isJsonObject(content)) return schema;
  const [media] = Object.values(content);
  return isJsonObject(media) ? media['schema'] : undefined;
}

function serverOf({ document, server }: Source, { item, operation }: Operation): string {
  const named = [operation, item, document].flatMap(({ servers }) =>
    Array.isArray(servers) ? (servers as unknown[]) : [],
  );
  const base = server ?? (isJsonObject(named[0]) ? addressOf(named[0]) : '');
  refuseLongAddress(base);
  if (/^https?:\/\//i.test(base)) return base.replace(/\/+$/, '');
  throw invalidField('openapi.server', 'is required: the document names no absolute address of a server');
}

function addressOf({ url, variables }: JsonObject): string {
  const template = textOf(url);
  refuseLongAddress(template);
  return template.replaceAll(/\{([^{}]+)\}/g, (_, name: string) => {
    const variable = isJsonObject(variables) ? variables[name] : undefined;
    const value = isJsonObject(variable) ? textOf(variable['default']) : '';
    refuseLongAddress(value);
    return value;
  });
}

function refuseLongAddress(address: string): void {
  if (address.length > addressCharsMax)
    throw invalidField('openapi.server', `must have at most ${addressCharsMax} characters`);
}

function nameOf({ method, path, operation }: Operation): string {
  const written = textOf(operation['operationId']) || `${method}_${path}`;
  const name = written
    .replaceAll(/[^A-Za-z0-9_-]+/g, '_')
    .replaceAll(/_{2,}/g, '_')
    .replace(/^[^A-Za-z]+/, '')
    .slice(0, nameCharsMax)
    .replace(/_+$/, '');
  return name === '' ? method : name;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
