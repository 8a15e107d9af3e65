import { ApiError } from '../../api/errors';

/** A form is long: what is wrong is also said beside its button, with the place. */
export function withPlace(error: unknown): unknown {
  if (!(error instanceof ApiError) || error.field === undefined) return error;
  return new Error(`${error.field.name}: ${error.field.issue}`);
}
