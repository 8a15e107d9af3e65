import type { Time } from '../../../cluster/index.js';
import { tooManyRequests } from '../../kernel/errors.js';
import { asActorError } from './refusals.js';

/**
 * Readers of one session: those that join its turns, and those that watch it. With those that begin a turn, as many as the
 * queue of turns holds, they are fewer than the streams of one actor (`streamCountMax`), so that none of the three keeps
 * the others out.
 */
export const joinedMax = 32;
export const watchersMax = 24;

const laterMs = 5_000;

/** Throws if the session has as many readers of this form as it may have. */
export function refuseAbove(max: number, count: number, form: string, time: Pick<Time, 'wallMs'>): void {
  if (count < max) return;
  const nowMs = time.wallMs();
  const message = `The session already has ${max} readers that ${form}, the maximum. Try again later.`;
  throw asActorError(tooManyRequests(max, { atMs: nowMs + laterMs, nowMs, message }));
}
