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
  /** For each request under way, the conversations that changed since it was sent: its answer is older for these. */
  readonly #changedSince = new Set<Set<string>>();
  #cursor: string | undefined;
  #refreshing: 'no' | 'yes' | 'again' = 'no';

  constructor(search: InboxSearch) {
    this.#search = search;
  }

  /** Fetches the next page, one at a time. */
  async more(): Promise<void> {
    const { loading, complete } = this.state.get();
    if (loading || complete) return;
    this.#set({ loading: true, error: null });
    try {
      const { data, next_cursor } = await this.#fetch(this.#cursor);
      this.#cursor = next_cursor ?? undefined;
      this.#merge(data);
      this.#set({ loading: false, complete: next_cursor === null });
    } catch (error) {
      if (!this.#ending.signal.aborted) this.#set({ loading: false, error });
    }
  }

  /** Fetches the newest page again: changes may have been missed. One at a time; one that is asked for meanwhile follows. */
  async refresh(): Promise<void> {
    if (this.#refreshing !== 'no') {
      this.#refreshing = 'again';
      return;
    }
    do {
      this.#refreshing = 'yes';
      await this.#refreshOnce();
    } while (this.#isAskedAgain());
    this.#refreshing = 'no';
  }

  async #refreshOnce(): Promise<void> {
    if (this.state.get().error !== null) return this.more();
    try {
      const { data, next_cursor, isOlder } = await this.#fetch(undefined);
      const last = next_cursor === null ? undefined : data.at(-1);
      const found = new Set(data.map(({ session_id: id }) => id));
      // What the page would show, had it not been deleted or changed.
      const gone = this.state
        .get()
        .rows.filter((one) => last === undefined || latestFirst(one, last) < 0)
        .map(({ session_id: id }) => id)
        .filter((id) => !found.has(id) && !isOlder(id));
      this.#noteChanged(gone);
      this.#merge(data, new Set(gone));
    } catch {
      // The list stays as it is; the next connection refreshes it.
    }
  }

  #isAskedAgain(): boolean {
    return this.#refreshing === 'again' && !this.#ending.signal.aborted;
  }

  /** A page, without the conversations that changed after it was asked for. */
  async #fetch(cursor: string | undefined) {
    const changed = new Set<string>();
    this.#changedSince.add(changed);
    try {
      const page = await listConversations(this.#search, cursor, this.#ending.signal);
      this.#noteChanged(
        page.data.map(({ session_id: id }) => id),
        changed,
      );
      const isOlder = (id: string): boolean => changed.has(id);
      return { ...page, data: page.data.filter(({ session_id: id }) => !isOlder(id)), isOlder };
    } finally {
      this.#changedSince.delete(changed);
    }
  }

  /** Takes conversations that changed. Those that the search no longer finds leave the list. */
  change(changed: readonly Conversation[]): void {
    this.#noteChanged(changed.map(({ session_id: id }) => id));
    const known = new Set(this.state.get().rows.map(({ session_id: id }) => id));
    const here = changed.filter(
      (one) => belongs(one, this.#search) && (this.#search.words === undefined || known.has(one.session_id)),
    );
    const gone = changed.filter((one) => known.has(one.session_id) && !here.includes(one));
    if (here.length === 0 && gone.length === 0) return;
    this.#merge(here, new Set(gone.map(({ session_id: id }) => id)));
  }

  /** Changes one conversation. One that is not in the list may belong there now. */
  patch(id: string, change: (one: Conversation) => Conversation): void {
    const one = this.state.get().rows.find(({ session_id }) => session_id === id);
    if (one === undefined) void this.refresh();
    else this.change([change(one)]);
  }

  end(): void {
    this.#ending.abort();
  }

  /** Answers of requests that were sent before `since`, or are under way, are older than these conversations. */
  #noteChanged(ids: readonly string[], since?: ReadonlySet<string>): void {
    for (const changed of this.#changedSince) {
      if (changed === since) return;
      for (const id of ids) changed.add(id);
    }
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
