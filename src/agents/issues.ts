import { z } from 'zod';
import { PlatformError } from '../kernel/errors.js';

/** Something that keeps an agent from being published. */
export interface Issue {
  /** Null for what concerns the agent itself. */
  readonly schemaId: string | null;
  /** Its name. */
  readonly schema: string | null;
  readonly field: string;
  readonly issue: string;
}

export const issueAnswer = z.object({
  schema: z.string().nullable(),
  schema_id: z.uuid().nullable(),
  field: z.string(),
  issue: z.string(),
});

export function answerOf({ schema, schemaId, field, issue }: Issue): z.output<typeof issueAnswer> {
  return { schema, schema_id: schemaId, field, issue };
}

/** The first issue in the form of every refusal of a field, and all of them beside it. */
export function notPublishable(issues: readonly [Issue, ...Issue[]]): PlatformError {
  const [first] = issues;
  const place = first.schema === null ? first.field : `schema ${first.schema}, ${first.field}`;
  return new PlatformError('validation_error', {
    message: `${place}: ${first.issue}`,
    details: { ...answerOf(first), issues: issues.slice(0, 50).map(answerOf) },
  });
}
