import { invalidField } from '../../kernel/errors.js';
import { attachmentsShape, type GivenPart } from '../../models/parts/index.js';

/** Checks the form of `attachments`; throws with the path of the field. */
export function readAttachments(value: unknown): readonly GivenPart[] {
  if (value === null) return [];
  const read = attachmentsShape.safeParse(value);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw invalidField(['attachments', ...(issue?.path ?? [])].join('.'), issue?.message ?? 'is not valid');
}
