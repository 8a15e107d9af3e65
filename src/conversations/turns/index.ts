// The public interface of turns: what one turn of a session does, from its claim to its end.
import type { Message } from '../../llm/index.js';
import type { Platform } from '../../infra/platform/index.js';
import type { TurnsOptions, TurnsParts } from './parts.js';
import { runTurn } from './run-turn.js';
import { type MemoryNotes, summarise } from './summary.js';
import type { TurnEnd, TurnPorts, TurnStart } from './turn.js';

export { TurnParked, type WantedApproval } from './approvals.js';
export { TurnLost } from './interruption.js';
export { memorySettings, type MemorySettings, windowOf } from './memory.js';
export type { TurnsOptions, TurnsParts } from './parts.js';
export { userMessage } from './prompt.js';
export { suggestsReplies } from './quick-replies.js';
export type { MemoryNotes } from './summary.js';
export { publishedIn } from './turn-output.js';
export { tokensOf } from './turn-usage.js';
export type * from './turn.js';

export interface Turns {
  /**
   * Rejects with `TurnLost` if another process owns the turn by now, and with `TurnParked` if it waits for approvals;
   * every other end is a `TurnEnd`.
   */
  run(start: TurnStart, ports: TurnPorts): Promise<TurnEnd>;
  /**
   * New notes from the summary and the facts in `start` and from these messages, which are about to leave the
   * window. The session decides when. Undefined if no model could be asked: the notes stay as they were.
   */
  summarise(
    start: TurnStart,
    messages: readonly Message[],
    ports: Pick<TurnPorts, 'mayAct' | 'signal'>,
  ): Promise<MemoryNotes | undefined>;
}

export function createTurns(platform: Pick<Platform, 'time' | 'log'>, options: TurnsOptions): Turns {
  const { time, log } = platform;
  const parts: TurnsParts = { ...options, time, note: log.note, report: log.report };
  return {
    run: (start, ports) => runTurn(parts, start, ports),
    summarise: (start, messages, ports) => summarise(parts, start, messages, ports),
  };
}
