import { ApiError } from '../../../api/errors';

/** What is wrong, with the field if the API names one. */
export function readableProblem(error: unknown): string {
  if (error instanceof ApiError && error.field !== undefined) {
    return `${error.field.name}: ${error.field.issue}`;
  }
  return error instanceof Error ? error.message : 'An unexpected error occurred.';
}
