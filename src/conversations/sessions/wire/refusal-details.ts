import { RefusalDetail } from '../../../../generated/troupe/actors/v1/session.js';
import type { ErrorContext } from '../../../kernel/errors.js';

export type RefusalContext = Pick<ErrorContext, 'details' | 'retryAfterSeconds'>;

/** The runtime carries the detail of an error as text, so the message is in base64. */
export function refusalToWire({
  details,
  retryAfterSeconds,
}: {
  readonly details: ErrorContext['details'] | undefined;
  readonly retryAfterSeconds: number | undefined;
}): string {
  return Buffer.from(RefusalDetail.encode({ details, retryAfterSeconds }).finish()).toString('base64');
}

export function refusalFromWire(detail: string): RefusalContext {
  const { details, retryAfterSeconds } = RefusalDetail.decode(Buffer.from(detail, 'base64'));
  return {
    ...(details === undefined ? {} : { details }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  };
}
