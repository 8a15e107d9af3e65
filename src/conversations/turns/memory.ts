/** The memory of a session's agent: a window of complete messages, and a summary and facts of the older ones. */
import type { Snapshot } from '../../agents/index.js';
import type { Message } from '../../llm/index.js';

export interface MemorySettings {
  /** Whether anything of earlier messages is remembered. */
  readonly remembers: boolean;
  /** The number of messages that models are shown in full. */
  readonly windowMessages: number;
  /** The number of messages that leave the window before the next summary is due; undefined: no summaries. */
  readonly summarizeAfter: number | undefined;
}

const windowMessagesDefault = 20;
const summarizeAfterDefault = 20;

/** Summaries cost model calls, so they are made only for agents that ask for a memory. */
export function memorySettings({ metadata: { memory = {} } }: Snapshot): MemorySettings {
  return {
    remembers: memory.enabled !== false,
    windowMessages: memory.window_messages ?? windowMessagesDefault,
    summarizeAfter:
      memory.enabled === true || memory.summarize_after !== undefined
        ? (memory.summarize_after ?? summarizeAfterDefault)
        : undefined,
  };
}

/** The newest messages, starting with one of the user: some vendors refuse a conversation that starts otherwise. */
export function windowOf(messages: readonly Message[], count: number): readonly Message[] {
  const newest = messages.slice(Math.max(0, messages.length - count));
  const first = newest.findIndex(({ role }) => role === 'user');
  return first === -1 ? [] : newest.slice(first);
}
