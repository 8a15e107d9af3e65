import { Ajv2020 } from 'ajv/dist/2020.js';
import type { JsonObject } from '../../operations/index.js';

/**
 * Judges the JSON Schemas that tenants write. Formats are left to the model's good sense, and unknown keywords are
 * allowed, as the standard says. A schema of somebody else's making is never kept by the judge.
 */
const judge = new Ajv2020({
  strict: false,
  validateFormats: false,
  addUsedSchema: false,
  // An inlined reference is copied wherever it is used, and copies of copies grow without end.
  inlineRefs: false,
  logger: false,
});

export interface JsonSchemaFault {
  /** Below the schema, as `properties.city.type`; empty for the schema itself. */
  readonly at: string;
  readonly issue: string;
}

/** The first fault of the schema; undefined when it is valid and all that it refers to is in it. */
export function faultOfJsonSchema(schema: JsonObject): JsonSchemaFault | undefined {
  try {
    if (judge.validateSchema(schema) !== true) {
      const [first] = judge.errors ?? [];
      const at = (first?.instancePath ?? '').split('/').slice(1).join('.');
      return { at, issue: `is no valid JSON Schema: ${first?.message ?? 'unknown fault'}` };
    }
    if (schema['type'] !== undefined && schema['type'] !== 'object') {
      return { at: 'type', issue: 'must be object: arguments have names' };
    }
    judge.compile(schema);
    return undefined;
  } catch (error) {
    const reason = error instanceof Error ? error.message.slice(0, 200) : 'it cannot be read';
    return { at: '', issue: `is no valid JSON Schema: ${reason}` };
  } finally {
    judge.removeSchema(schema);
  }
}
