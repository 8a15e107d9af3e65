import { LRUCache } from 'lru-cache';
import { scheduleOf, type ScheduleRequest } from './schedule.js';

const nextRunsShown = 3;
/** Cached by cron expression and zone: a computation takes a millisecond, and a list may hold thousands. */
const knownRuns = new LRUCache<string, readonly number[]>({ max: 10_000 });

/** The result is valid until the first of the runs is over. */
export function nextRunsOf(request: ScheduleRequest, nowMs: number): string[] {
  const key = JSON.stringify([request.cron, request.timezone]);
  let runs = knownRuns.get(key) ?? [];
  if ((runs[0] ?? 0) <= nowMs) {
    const schedule = scheduleOf(request, nowMs);
    const found: number[] = [];
    for (let next = schedule?.next(nowMs); next !== undefined && found.length < nextRunsShown;) {
      found.push(next);
      next = schedule?.next(next);
    }
    runs = found;
    knownRuns.set(key, runs);
  }
  return runs.map((run) => new Date(run).toISOString());
}
