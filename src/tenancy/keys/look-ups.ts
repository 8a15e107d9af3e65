import type { Time } from '../../../cluster/index.js';
import { type HotReads, LookUps } from '../../infra/storage/index.js';
import { findByHashes, type FoundKey } from './lookup.store.js';

/** The hashes of one query; PostgreSQL looks each of them up in the index. */
const perQuestionMax = 500;
const waitingMax = 10_000;
/** Ten queries per second for all addresses together that have sent too many wrong keys. */
const behindOthersEveryMs = 100;

/**
 * Looks up keys that this node has not cached, in batches. There are two queues: keys from an address that sends many
 * wrong ones wait in their own, so that they do not delay first requests of others. A right key among them waits a tenth
 * of a second once, and is cached then.
 */
export class KeyLookUps {
  readonly #promptly: LookUps<FoundKey>;
  readonly #behindOthers: LookUps<FoundKey>;

  constructor(reads: HotReads, time: Time) {
    const find = (hashes: readonly string[]) => findByHashes(reads, hashes);
    const bounds = { find, time, perQuestionMax, waitingMax };
    this.#promptly = new LookUps({ ...bounds, everyMs: 0 });
    this.#behindOthers = new LookUps({ ...bounds, everyMs: behindOthersEveryMs });
  }

  find(hash: string, behindOthers: boolean): Promise<FoundKey | undefined> {
    return (behindOthers ? this.#behindOthers : this.#promptly).get(hash);
  }
}
