import { randomBytes, randomUUID } from 'node:crypto';
import { systemRandom as runtimeRandom, systemTime, type Time } from '../../../cluster/index.js';
import type { Ids, SecureRandom } from '../../kernel/chance.js';

/** The real sources of chance. Only the composition root and tests name them. */
export const systemRandom: SecureRandom = {
  ...runtimeRandom,
  bytes: (count) => randomBytes(count),
};

export const systemIds: Ids = { uuid: () => randomUUID() };

/** The machine's clock and chance. */
export const systemPlatform: { readonly time: Time; readonly ids: Ids; readonly random: SecureRandom } = {
  time: systemTime,
  ids: systemIds,
  random: systemRandom,
};
