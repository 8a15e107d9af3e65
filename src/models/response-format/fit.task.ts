// Loaded by child processes: compares an answer with the JSON Schema that a caller gave.
import { type AnySchemaObject, Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';

export interface FitInput {
  readonly [name: string]: string;
  readonly schema: string;
  /** As JSON; empty to examine the schema alone. */
  readonly answer: string;
}

/** What is wrong with the schema, or where the answer does not fit it; neither if it fits. */
export interface Fit {
  readonly schemaFault?: string;
  readonly mismatch?: string;
}

const reasonCharsMax = 300;
const mismatchesShown = 5;

/**
 * A schema is compiled by an instance of its own: one with the id of the draft would replace the draft for every tenant.
 * References to other addresses are not fetched, and formats are not checked, as the standard says.
 */
export function run({ schema: json, answer }: FitInput): Fit {
  let fits: ReturnType<Ajv2020['compile']>;
  try {
    const { $schema: _, ...schema } = JSON.parse(json) as AnySchemaObject;
    fits = new Ajv2020({
      strict: false,
      validateFormats: false,
      addUsedSchema: false,
      logger: false,
      messages: true,
    }).compile(schema);
    if ('$async' in fits) return { schemaFault: '$async is not supported' };
  } catch (error) {
    return { schemaFault: reasonOf(error) };
  }
  if (answer === '' || fits(JSON.parse(answer))) return {};
  const [first, ...others] = (fits.errors ?? []).slice(0, mismatchesShown).map(shown);
  return { mismatch: [first ?? 'does not fit', ...others].join('; ').slice(0, reasonCharsMax) };
}

function shown({ instancePath, message }: ErrorObject): string {
  return `${instancePath === '' ? 'the answer' : instancePath} ${message ?? 'does not fit'}`;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message.slice(0, reasonCharsMax) : 'it cannot be compiled';
}
