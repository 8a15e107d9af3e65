/** The parts of /openapi.json that the reference shows. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly 'x-enumDescriptions'?: Readonly<Record<string, string>>;
}

export interface Media {
  readonly schema?: Schema;
  readonly example?: unknown;
  readonly 'x-stream-example'?: string;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

export interface Answer {
  readonly description: string;
  readonly headers?: Readonly<Record<string, { readonly $ref?: string }>>;
  readonly content?: Readonly<Record<string, Media>>;
}

interface Reference {
  readonly $ref: string;
}

interface WrittenOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly security: readonly Readonly<Record<string, unknown>>[];
  readonly 'x-permission'?: string;
  readonly parameters: readonly (Parameter | Reference)[];
  readonly requestBody?: {
    readonly required: boolean;
    readonly content: Readonly<Record<string, Media>>;
  };
  readonly responses: Readonly<Record<string, Answer | Reference>>;
}

interface WrittenDocument {
  readonly info: { readonly version: string; readonly description: string };
  readonly tags: readonly {
    readonly name: string;
    readonly 'x-displayName': string;
    readonly description: string;
  }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, WrittenOperation>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

export interface Operation extends Omit<WrittenOperation, 'parameters' | 'responses'> {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly answers: readonly (readonly [status: string, answer: Answer])[];
  /** What the search looks through. */
  readonly words: string;
}

export interface Group {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly operations: readonly Operation[];
}

/** The document with its references to parameters and answers resolved; those to schemas stay, since schemas are nested. */
export class ApiDocument {
  readonly version: string;
  readonly introduction: string;
  readonly groups: readonly Group[];
  readonly operations: ReadonlyMap<string, Operation>;
  readonly #components: WrittenDocument['components'];

  constructor(written: WrittenDocument) {
    this.#components = written.components;
    this.version = written.info.version;
    this.introduction = written.info.description;
    const operations = Object.entries(written.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, each]) => this.#operation(method.toUpperCase(), path, each)),
    );
    this.operations = new Map(operations.map((operation) => [operation.operationId, operation]));
    this.groups = written.tags.map((tag) => ({
      name: tag.name,
      title: tag['x-displayName'],
      description: tag.description,
      operations: operations.filter(({ tags }) => tags.includes(tag.name)),
    }));
  }

  #operation(method: string, path: string, written: WrittenOperation): Operation {
    const { operationId, summary, description } = written;
    const answers = Object.entries(written.responses).map(
      ([status, answer]) => [status, this.#resolved<Answer>(answer)] as const,
    );
    return {
      ...written,
      method,
      path,
      parameters: written.parameters.map((each) => this.#resolved<Parameter>(each)),
      answers,
      words: `${method} ${path} ${operationId} ${summary} ${description}`.toLowerCase(),
    };
  }

  #resolved<Part>(part: Part | Reference): Part {
    const reference = (part as Partial<Reference>).$ref;
    if (reference === undefined) return part as Part;
    const [, , section = '', name = ''] = reference.split('/');
    return this.#components[section]?.[name] as Part;
  }

  /** The schema itself, and its name if it has one. */
  schema(schema: Schema): { readonly name: string | undefined; readonly schema: Schema } {
    if (schema.$ref === undefined) return { name: undefined, schema };
    const { $ref, ...beside } = schema;
    const found = this.#resolved<Schema>({ $ref });
    return { name: $ref.slice($ref.lastIndexOf('/') + 1), schema: { ...found, ...beside } };
  }

  /** What a header says. */
  header(name: string): string {
    const header = this.#components['headers']?.[name] as { readonly description?: string } | undefined;
    return header?.description ?? '';
  }

  /** Every error with what to do about it. */
  get errors(): readonly (readonly [code: string, meaning: string])[] {
    const { schema } = this.schema({ $ref: '#/components/schemas/ErrorCode' });
    return Object.entries(schema['x-enumDescriptions'] ?? {});
  }
}

export async function loadDocument(): Promise<ApiDocument> {
  const response = await fetch('/openapi.json');
  if (!response.ok) throw new Error(`The description of the API could not be loaded (${response.status}).`);
  return new ApiDocument((await response.json()) as WrittenDocument);
}

/** Operations that have all words of the search, those that have them in their names first. */
export function search(operations: Iterable<Operation>, text: string): readonly Operation[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [...operations].filter((operation) => words.every((word) => operation.words.includes(word)));
  const isNamed = ({ operationId, path, summary }: Operation): number => {
    const name = `${operationId} ${path} ${summary}`.toLowerCase();
    return words.every((word) => name.includes(word)) ? 0 : 1;
  };
  return found.toSorted((one, other) => isNamed(one) - isNamed(other));
}
