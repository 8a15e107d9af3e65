import { z } from 'zod';
import { expressionLengthMax, faultOfExpression } from '../../../infra/expressions/index.js';
import { isJsonObject, givenGuid } from '../../../http/operations/index.js';
import { faultOfAddress } from '../templates.js';

/** Field schemas that several parts of a trigger's configuration share. */

const secretName = z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/, { error: 'must be the name of a secret' });

export const headerName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/, { error: 'must be the name of a header' });

export const contentType = z
  .string()
  .regex(/^[A-Za-z0-9!#$&^_.+-]{1,100}\/[A-Za-z0-9!#$&^_.+-]{1,100}(?:;[\x20-\x7e]{1,100})?$/, {
    error: 'must be a content type',
  });

/** A secret by its name or its id; exactly one of the two is set. */
export const secretFields = {
  secret_ref: secretName.optional(),
  vault_secret_id: givenGuid.optional(),
};

export interface SecretFields {
  readonly secret_ref?: string | undefined;
  readonly vault_secret_id?: string | undefined;
}

export function refuseUnlessOneSecret(value: SecretFields, context: z.RefinementCtx): void {
  if ((value.secret_ref === undefined) !== (value.vault_secret_id === undefined)) return;
  context.addIssue({
    code: 'custom',
    path: ['secret_ref'],
    message: 'must have exactly one of secret_ref and vault_secret_id',
  });
}

/** A path of names separated by dots. */
export const dottedPath = z
  .string()
  .min(1)
  .max(500)
  .refine((path) => path.split('.').every((name) => name !== ''), 'must be names separated by dots');

export const expression = z
  .string()
  .min(1)
  .max(expressionLengthMax)
  .superRefine((text, context) => {
    const fault = faultOfExpression(text);
    if (fault !== undefined) context.addIssue({ code: 'custom', message: fault });
  });

export const address = z
  .string()
  .max(2_000)
  .superRefine((text, context) => {
    const fault = faultOfAddress(text);
    if (fault !== undefined) context.addIssue({ code: 'custom', message: fault });
  });

/** Any JSON value of bounded size. */
export function jsonOf(bytesMax: number) {
  return z
    .json()
    .refine(
      (value) => Buffer.byteLength(JSON.stringify(value)) <= bytesMax,
      `has more than ${bytesMax} bytes as JSON`,
    );
}

/** Fills in the discriminator field, which a discriminated union cannot default itself. */
export function withDefault<Schema extends z.ZodType>(name: string, value: string, schema: Schema) {
  return z.preprocess(
    (given) => (isJsonObject(given) && !(name in given) ? { ...given, [name]: value } : given),
    schema,
  );
}

const configBytesMax = 512 * 1024;

/** Bounds the size of any configuration, since it is read again with every change of its trigger. */
export const anyConfig = z
  .record(z.string(), z.unknown())
  .refine(
    (config) => Buffer.byteLength(JSON.stringify(config)) <= configBytesMax,
    `has more than ${configBytesMax} bytes as JSON`,
  );
