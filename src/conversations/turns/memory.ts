/** What a session's agent remembers: a window of whole messages, and of those before it a summary and facts. */
import type { Snapshot } from '../../agents/index.js';
import type { Message } from '../../llm/index.js';

export interface MemorySettings {
  /** Whether anything of earlier messages is remembered at all. */
  readonly remembers: boolean;
  /** How many messages models are shown as they were. */
  readonly windowMessages: number;
  /** A summary is due when so many messages have left the window since the last one; undefined: never. */
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

/** The newest messages, beginning with one of the user: some vendors refuse a conversation that begins otherwise. */
export function windowOf(messages: readonly Message[], count: number): readonly Message[] {
  const newest = messages.slice(Math.max(0, messages.length - count));
  const first = newest.findIndex(({ role }) => role === 'user');
  return first === -1 ? [] : newest.slice(first);
}
