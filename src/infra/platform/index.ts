// What every subject may need of the node that it runs on.
import type { Time } from '../../../cluster/index.js';
import type { Ids, SecureRandom } from '../../kernel/chance.js';
import type { BatchWriters, ChangeFeed, HotReads, Store } from '../storage/index.js';

export { systemIds, systemPlatform, systemRandom } from './system.js';

/**
 * Handed to each subject once, before the options that only this subject has. A subject names the parts that it uses:
 * `Pick<Platform, 'store' | 'time'>`.
 */
export interface Platform {
  readonly store: Store;
  /** Prepared reads of hot paths. */
  readonly reads: HotReads;
  /** Writers that put the rows of many callers into one statement. */
  readonly writers: BatchWriters;
  /** What other nodes changed. */
  readonly changes: ChangeFeed;
  readonly time: Time;
  readonly ids: Ids;
  readonly random: SecureRandom;
  readonly log: PlatformLog;
}

/** The log for what happens outside any request. */
export interface PlatformLog {
  readonly report: (attempted: string, error: unknown) => void;
  readonly note: (what: string, facts: Readonly<Record<string, unknown>>) => void;
}
