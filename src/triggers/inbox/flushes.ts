import { randomUUID } from 'node:crypto';
import type { TenantScope } from '../../context/tenant-scope.js';
import type { BatchWriter } from '../../storage/index.js';
import type { Gates } from '../gates.js';
import type { LiveTriggers } from '../live-triggers.js';
import type { Flushed, FlushRow } from './flush-target.js';
import type { Item } from './item.js';
import { served } from './served.js';
import { merged, type WorkSeal } from './work.js';
import type { Window } from './windows.store.js';

export interface FlushesParts {
  readonly live: Pick<LiveTriggers, 'get'>;
  readonly seal: WorkSeal;
  readonly gates: Pick<Gates, 'isDenied'>;
  readonly writer: Pick<BatchWriter<FlushRow, Flushed>, 'write'>;
}

/** Makes the one execution of a buffer. Buffers that end together are flushed together. */
export class Flushes {
  readonly #parts: FlushesParts;

  constructor(parts: FlushesParts) {
    this.#parts = parts;
  }

  /** What is to run; how long the window stays open; or undefined where somebody else flushed it. */
  async flush(
    scope: TenantScope,
    window: Window,
    atOnce: boolean,
    bytes: number,
  ): Promise<Item | number | undefined> {
    const { live, seal, writer, gates } = this.#parts;
    const { triggerId, sessionId } = window;
    const executionId = randomUUID();
    const { parts, seq, leftMs } = await writer.write({
      tenant_id: scope.tenantId,
      trigger_id: triggerId,
      session_id: sessionId,
      execution_id: executionId,
      at_once: atOnce,
      bytes,
    });
    if (leftMs !== undefined || parts.length === 0) return leftMs;
    const found = live.get(triggerId);
    const trigger = found instanceof Promise ? await found : found;
    const messages = seal.openEach(
      scope,
      parts.map((part) => part.sealed),
    );
    return {
      scope,
      triggerId,
      sessionId,
      executionId,
      work: merged(await served(gates, scope, messages), trigger?.parsed),
      row: { trigger_id: triggerId, key: `buffer:${executionId}`, seq },
      attempts: 1,
      ageMs: 0,
    };
  }
}
