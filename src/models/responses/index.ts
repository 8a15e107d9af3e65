// OpenAI's Responses API: calls, and the stored responses that they may continue.
import type { Operation } from '../../http/operations/index.js';
import type { Platform } from '../../infra/platform/index.js';
import type { Sealer } from '../../infra/sealing/index.js';
import type { ModelCalls } from '../calls/index.js';
import { responseOperations } from './operations.js';
import { ResponseCalls } from './response-calls.js';
import { StoredResponses } from './stored-responses.js';

export { resealResponses } from './reseal.js';
export { forgetResponses } from './responses.store.js';

export interface ResponsesOptions {
  readonly calls: Pick<ModelCalls, 'prepare'>;
  readonly sealer: Sealer;
  /** Refuses an address that may not be reached from here. */
  readonly checkUrl: (url: string, field: string) => unknown;
}

export interface Responses {
  readonly operations: readonly Operation[];
}

export function createResponses(
  platform: Pick<Platform, 'store' | 'time' | 'ids' | 'log'>,
  { calls, sealer, checkUrl }: ResponsesOptions,
): Responses {
  const { store, time, ids, log } = platform;
  const stored = new StoredResponses({ store, sealer, time });
  const newId = (): string => ids.uuid();
  const answers = new ResponseCalls({ calls, stored, checkUrl, time, newId, report: log.report });
  return { operations: responseOperations(answers, stored) };
}
