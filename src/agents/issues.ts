import { z } from 'zod';
import { PlatformError } from '../kernel/errors.js';
import { named } from '../http/operations/index.js';

/** A fault that prevents publication. */
export interface Issue {
  /** Null for a fault of the agent itself. */
  readonly schemaId: string | null;
  /** The name of the schema. */
  readonly schema: string | null;
  readonly field: string;
  readonly issue: string;
}

export const issueAnswer = named(
  'AgentIssue',
  z.object({
    schema: z.string().nullable(),
    schema_id: z.uuid().nullable(),
    field: z.string(),
    issue: z.string(),
  }),
);

export function answerOf({ schema, schemaId, field, issue }: Issue): z.output<typeof issueAnswer> {
  return { schema, schema_id: schemaId, field, issue };
}

/** Reports the first issue as the field error and lists up to 50 issues in the details. */
export function notPublishable(issues: readonly [Issue, ...Issue[]]): PlatformError {
  const [first] = issues;
  const place = first.schema === null ? first.field : `schema ${first.schema}, ${first.field}`;
  return new PlatformError('validation_error', {
    message: `${place}: ${first.issue}`,
    details: { ...answerOf(first), issues: issues.slice(0, 50).map(answerOf) },
  });
}
