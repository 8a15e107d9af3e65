/** The filters of the inbox and the open conversation, as the address has them. */
export const states = ['waiting', 'approval', 'active', 'ended'] as const;
export type InboxState = (typeof states)[number];

export interface InboxSearch {
  readonly session?: string;
  readonly state?: InboxState;
  readonly agent?: string;
  readonly channel?: string;
  readonly consumer?: string;
  readonly words?: string;
  /** Days, `2026-11-23`, in the person's zone. */
  readonly from?: string;
  readonly to?: string;
}

const texts = ['session', 'agent', 'channel', 'consumer', 'words', 'from', 'to'] as const;

export function inboxSearchOf(given: Readonly<Record<string, unknown>>): InboxSearch {
  const search: { -readonly [Name in keyof InboxSearch]: InboxSearch[Name] } = {};
  for (const name of texts) {
    const value = given[name];
    if (typeof value === 'string' && value !== '') search[name] = value;
  }
  const state = states.find((one) => one === given['state']);
  if (state !== undefined) search.state = state;
  return search;
}
