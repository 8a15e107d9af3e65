import { Value } from '../../session/value';
import { belongs, type Conversation, listConversations } from './conversations';
import type { InboxSearch } from './search';

export interface ListState {
  /** Latest first. A conversation that did not change stays the same object, so that its line is not drawn again. */
  readonly rows: readonly Conversation[];
  readonly loading: boolean;
  /** Everything that matches is here. */
  readonly complete: boolean;
  readonly error: unknown;
}

/**
 * The list of one search: pages fetched as they are needed, and changes put in their place as they happen. A query cache
 * of pages would fetch all of them again for one change.
 */
export class ConversationList {
  readonly state = new Value<ListState>({ rows: [], loading: false, complete: false, error: null });
  readonly #search: InboxSearch;
  readonly #ending = new AbortController();
  #cursor: string | undefined;

  constructor(search: InboxSearch) {
    this.#search = search;
  }

  /** Fetches the next page, one at a time. */
  async more(): Promise<void> {
    const { loading, complete } = this.state.get();
    if (loading || complete) return;
    this.#set({ loading: true, error: null });
    try {
      const { data, next_cursor } = await listConversations(this.#search, this.#cursor, this.#ending.signal);
      this.#cursor = next_cursor ?? undefined;
      this.#merge(data);
      this.#set({ loading: false, complete: next_cursor === null });
    } catch (error) {
      if (!this.#ending.signal.aborted) this.#set({ loading: false, error });
    }
  }

  /** Fetches the newest page again: changes may have been missed. */
  async refresh(): Promise<void> {
    if (this.#cursor === undefined && !this.state.get().complete) return this.more();
    try {
      const { data } = await listConversations(this.#search, undefined, this.#ending.signal);
      this.#merge(data);
    } catch {
      // The list stays as it is; the next connection refreshes it.
    }
  }

  /** Takes conversations that changed. Those that the search no longer finds leave the list. */
  change(changed: readonly Conversation[]): void {
    const known = new Set(this.state.get().rows.map(({ session_id: id }) => id));
    const here = changed.filter(
      (one) => belongs(one, this.#search) && (this.#search.words === undefined || known.has(one.session_id)),
    );
    const gone = changed.filter((one) => known.has(one.session_id) && !here.includes(one));
    if (here.length === 0 && gone.length === 0) return;
    this.#merge(here, new Set(gone.map(({ session_id: id }) => id)));
  }

  /** Changes one conversation that is in the list. */
  patch(id: string, change: (one: Conversation) => Conversation): void {
    const one = this.state.get().rows.find(({ session_id }) => session_id === id);
    if (one !== undefined) this.change([change(one)]);
  }

  end(): void {
    this.#ending.abort();
  }

  #merge(news: readonly Conversation[], gone: ReadonlySet<string> = new Set()): void {
    const { rows } = this.state.get();
    const newer = new Map(news.map((one) => [one.session_id, one]));
    const kept = rows.filter(({ session_id: id }) => !newer.has(id) && !gone.has(id));
    this.#set({ rows: merged(kept, [...newer.values()].toSorted(latestFirst)) });
  }

  #set(change: Partial<ListState>): void {
    this.state.set({ ...this.state.get(), ...change });
  }
}

function latestFirst(a: Conversation, b: Conversation): number {
  if (a.last_interaction !== b.last_interaction) return a.last_interaction < b.last_interaction ? 1 : -1;
  return a.session_id < b.session_id ? 1 : -1;
}

/** Two sorted lists as one, without sorting ten thousand lines for each change. */
function merged(a: readonly Conversation[], b: readonly Conversation[]): readonly Conversation[] {
  const all: Conversation[] = [];
  let next = 0;
  for (const one of a) {
    for (let other = b[next]; other !== undefined && latestFirst(other, one) < 0; other = b[next]) {
      all.push(other);
      next += 1;
    }
    all.push(one);
  }
  return [...all, ...b.slice(next)];
}
