import { ApiError } from '@troupe/client';

export { ApiError, ConnectionError } from '@troupe/client';

export const isForbidden = (error: unknown): boolean => error instanceof ApiError && error.status === 403;
export const isMissing = (error: unknown): boolean => error instanceof ApiError && error.status === 404;
