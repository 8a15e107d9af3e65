// Loaded by child processes: checks arguments that a person wrote against the JSON Schema of their tool.
import { Ajv2020 } from 'ajv/dist/2020.js';

export interface ArgumentsCheckInput {
  readonly [name: string]: string;
  readonly schema: string;
  readonly value: string;
}

/** `fault` is undefined for arguments that fit; `at` names the field, and is empty for the arguments as a whole. */
export type ArgumentsCheck = { readonly fault: { readonly at: string; readonly issue: string } | undefined };

export function run({ schema: schemaText, value }: ArgumentsCheckInput): ArgumentsCheck {
  const { $id: _, $schema: __, ...schema } = JSON.parse(schemaText) as Record<string, unknown>;
  // An instance for each task: no tenant's schema is left for another's.
  const ajv = new Ajv2020({ strict: false, validateSchema: false, validateFormats: false, logger: false });
  const fits = ajv.compile(schema);
  if (fits(JSON.parse(value))) return { fault: undefined };
  const [first] = fits.errors ?? [];
  const missing = first?.keyword === 'required' ? `/${String(first.params['missingProperty'])}` : '';
  const at = `${first?.instancePath ?? ''}${missing}`.split('/').slice(1).join('.');
  return { fault: { at, issue: first?.message ?? 'does not fit the schema' } };
}
