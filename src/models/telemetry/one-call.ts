import { z } from 'zod';
import {
  declare,
  one,
  oneShape,
  type Operation,
  tenantUser,
  givenUuid,
} from '../../http/operations/index.js';
import type { Store } from '../../infra/storage/index.js';
import { PlatformError } from '../../kernel/errors.js';
import { readCall } from './log.store.js';
import { entryOf } from './reports.js';
import { logEntry } from './shapes.js';
import { attemptOf, attemptShape } from './turn-calls.js';
import { readCallAttempts } from './turn-calls.store.js';

/** An attempt is opened before the call ends; clocks of two processes differ by less. */
const spareMs = 5_000;

/** One call of a model with its attempts: which vendors were asked, and why another one followed. */
export function oneCallOperation(store: Store): Operation {
  return declare({
    name: 'telemetry.log',
    method: 'GET',
    dialect: 'telemetry',
    path: '/api/telemetry/logs/:id',
    title: 'Read one model call with its attempts.',
    description: 'Attempts are kept for some months; an older call has none.',
    access: tenantUser('telemetry:read', 'required-header'),
    errors: ['not_found'],
    params: z.object({ id: givenUuid }),
    output: oneShape(logEntry.extend({ attempts: z.array(attemptShape) })),
    handle: ({ caller, params }) =>
      store.inTenant(caller.scope, async (tx) => {
        const call = await readCall(tx, params.id);
        if (call === null) throw new PlatformError('not_found', { message: 'The call was not found.' });
        const { started_at: startedAt, response_time_ms: tookMs } = call;
        const span = {
          from: new Date(startedAt.getTime() - spareMs),
          to: new Date(startedAt.getTime() + tookMs + spareMs),
        };
        const attempts = call.from_cache ? [] : await readCallAttempts(tx, params.id, span);
        return one({ ...entryOf(call), attempts: attempts.map(attemptOf) });
      }),
  });
}
