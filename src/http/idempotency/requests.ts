/**
 * Requests with an `Idempotency-Key`: the first takes its row, works, and leaves its answer there; repeats wait for the
 * answer on any node.
 */
import { createHash } from 'node:crypto';
import { sleep, type Time, type Timer } from '../../../cluster/index.js';
import { actorOf } from '../../kernel/caller.js';
import type { Ids } from '../../kernel/chance.js';
import { PlatformError } from '../../kernel/errors.js';
import { type KeyedRequest, keyedScope, type TenantScope } from '../../kernel/tenant-scope.js';
import type { Sealer } from '../../infra/sealing/index.js';
import type { Store } from '../../infra/storage/index.js';
import type { BegunRequest, IdempotentRequests, KeptAnswer, NamedRequest } from '../operations/index.js';
import { findRequest, keepAnswer, releaseRequest, renewRequest, takeRequest } from './requests.store.js';
import { placeOf } from './sealed-place.js';
import { stableText } from './stable-text.js';

const renewEveryMs = 4_000;
const firstLookMs = 50;
const lookMsMax = 1_000;
/** Longer than any request; then the repeat is refused and may be sent again. */
const waitMsMax = 10 * 60_000;

export interface RequestsParts {
  readonly store: Store;
  readonly sealer: Pick<Sealer, 'seal' | 'open'>;
  readonly time: Time;
  readonly ids: Ids;
  readonly report: (attempted: string, error: unknown) => void;
}

type Found = BegunRequest | 'running';

export class KeptRequests implements IdempotentRequests {
  readonly #parts: RequestsParts;

  constructor(parts: RequestsParts) {
    this.#parts = parts;
  }

  get report(): RequestsParts['report'] {
    return this.#parts.report;
  }

  async begin(request: NamedRequest): Promise<BegunRequest> {
    const { time } = this.#parts;
    const { leaving } = request;
    const name = {
      caller: actorOf(request.caller),
      operation: request.operation,
      keyHash: digest(request.key),
      bodyHash: digest(stableText(request.input)),
    };
    const endsAtMs = time.monotonicMs() + waitMsMax;
    for (let pauseMs = firstLookMs; ; pauseMs = Math.min(lookMsMax, 2 * pauseMs)) {
      const found = await this.#look(request.caller.scope, name);
      if (found !== 'running') return found;
      if (leaving.aborted) throw new PlatformError('client_closed');
      if (time.monotonicMs() > endsAtMs) {
        throw new PlatformError('service_unavailable', {
          message: 'The first request with this Idempotency-Key is still at work. Send it again later.',
          retryAfterSeconds: 10,
        });
      }
      await sleep(time, pauseMs);
    }
  }

  async #look(scope: TenantScope, name: Parameters<typeof takeRequest>[2]): Promise<Found> {
    const { store, ids } = this.#parts;
    const fresh: KeyedRequest = { seed: ids.uuid(), holder: ids.uuid() };
    const { taken, known } = await store.inTenant(scope, async (tx) => {
      const taken = await takeRequest(scope, tx, name, fresh);
      return { taken, known: taken === null ? await findRequest(scope, tx, name) : null };
    });
    if (taken !== null) return this.#held(scope, { seed: taken.seed, holder: fresh.holder }, taken.subject);
    // Released since: the next look takes it.
    if (known === null) return 'running';
    if (!name.bodyHash.equals(known.body_hash)) throw new PlatformError('idempotency_key_reused');
    if (!known.answered) return 'running';
    const { seed, subject: made, sealed_answer: sealed } = known;
    return {
      state: 'answered',
      seed,
      made,
      answer: sealed === null ? null : this.#open(scope, seed, sealed),
    };
  }

  #held(scope: TenantScope, request: KeyedRequest, made: string | null): BegunRequest {
    const { store, sealer } = this.#parts;
    const stop = this.#renewing(scope, request);
    return {
      state: 'held',
      seed: request.seed,
      made,
      scope: keyedScope(scope, request),
      keep: async (answer) => {
        stop();
        const sealed =
          answer === null
            ? null
            : sealer.seal(Buffer.from(JSON.stringify(answer)), placeOf(scope, request.seed));
        await store.inTenant(scope, (tx) => keepAnswer(scope, tx, request, sealed));
      },
      release: async (keepsSeed = false) => {
        stop();
        await store.inTenant(scope, (tx) => releaseRequest(scope, tx, request, keepsSeed));
      },
    };
  }

  /** Renews the hold until it is stopped, so that no repeat takes over what is only slow. */
  #renewing(scope: TenantScope, request: KeyedRequest): () => void {
    const { store, time, report } = this.#parts;
    let timer: Timer | undefined;
    let isStopped = false;
    const renewLater = (): void => {
      timer = time.after(renewEveryMs, () => {
        store
          .inTenant(scope, (tx) => renewRequest(scope, tx, request))
          .then(
            (holds) => holds,
            (error: unknown) => {
              report('holding a request with an Idempotency-Key', error);
              return true;
            },
          )
          .then((holds) => {
            if (holds && !isStopped) renewLater();
          })
          .catch((error: unknown) => report('holding a request with an Idempotency-Key', error));
      });
    };
    renewLater();
    return () => {
      isStopped = true;
      timer?.cancel();
    };
  }

  #open(scope: TenantScope, seed: string, sealed: Uint8Array): KeptAnswer {
    const opened = this.#parts.sealer.open(sealed, placeOf(scope, seed)).toString('utf8');
    return JSON.parse(opened) as KeptAnswer;
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
