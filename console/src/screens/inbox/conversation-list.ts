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

type Change = (one: Conversation) => Conversation;

/** What happened while a request was under way, and its answer may not have. */
interface Meanwhile {
  /** Conversations whose present state is in the list, or is known to be outside it. */
  readonly known: Set<string>;
  /** Changes of conversations that the list does not have. */
  readonly changes: Map<string, readonly Change[]>;
}

/** Every event may ask for a refresh; they are at least so far apart. */
const refreshesApartMs = 1_000;

/**
 * The list of one search: pages fetched as they are needed, and changes put in their place as they happen. A query cache
 * of pages would fetch all of them again for one change.
 */
export class ConversationList {
  readonly state = new Value<ListState>({ rows: [], loading: false, complete: false, error: null });
  readonly #search: InboxSearch;
  readonly #ending = new AbortController();
  /** One for each request under way, in the order in which they were sent. */
  readonly #underWay = new Set<Meanwhile>();
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
      const { rows, next_cursor } = await this.#fetch(this.#cursor);
      this.#cursor = next_cursor ?? undefined;
      this.#merge(rows);
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
    this.#refreshing = 'yes';
    await this.#refreshOnce();
    await new Promise((resolve) => setTimeout(resolve, refreshesApartMs));
    const isAskedAgain = this.#isAskedAgain();
    this.#refreshing = 'no';
    if (isAskedAgain) void this.refresh();
  }

  async #refreshOnce(): Promise<void> {
    // A page that failed is tried again too.
    if (this.state.get().error !== null) await this.more();
    try {
      const { rows, found, next_cursor, known } = await this.#fetch(undefined);
      const last = next_cursor === null ? undefined : found.at(-1);
      const ids = new Set(found.map(({ session_id: id }) => id));
      // What the page would show, had it not been deleted or changed.
      const gone = this.state
        .get()
        .rows.filter((one) => last === undefined || latestFirst(one, last) < 0)
        .map(({ session_id: id }) => id)
        .filter((id) => !ids.has(id) && !known.has(id));
      this.#note(gone);
      this.#merge(rows, new Set(gone));
    } catch {
      // The list stays as it is; the next connection refreshes it.
    }
  }

  #isAskedAgain(): boolean {
    return this.#refreshing === 'again' && !this.#ending.signal.aborted;
  }

  /** A page. `found` is the page as it was read, `rows` what is still true of it. */
  async #fetch(cursor: string | undefined) {
    const meanwhile: Meanwhile = { known: new Set(), changes: new Map() };
    this.#underWay.add(meanwhile);
    try {
      const { data: found, next_cursor } = await listConversations(this.#search, cursor, this.#ending.signal);
      const { known, changes } = meanwhile;
      const rows = found
        .filter(({ session_id: id }) => !known.has(id))
        .map((one) => (changes.get(one.session_id) ?? []).reduce((row, change) => change(row), one))
        .filter((one) => !changes.has(one.session_id) || belongs(one, this.#search));
      this.#note(
        found.map(({ session_id: id }) => id),
        meanwhile,
      );
      return { rows, found, next_cursor, known };
    } finally {
      this.#underWay.delete(meanwhile);
    }
  }

  /** Takes conversations that changed. Those that the search no longer finds leave the list. */
  change(changed: readonly Conversation[]): void {
    const known = new Set(this.state.get().rows.map(({ session_id: id }) => id));
    // Whether words find a conversation is not known here.
    const judged = changed.filter(
      (one) => this.#search.words === undefined || known.has(one.session_id) || !belongs(one, this.#search),
    );
    this.#note(judged.map(({ session_id: id }) => id));
    const here = judged.filter((one) => belongs(one, this.#search));
    const gone = judged.filter((one) => known.has(one.session_id) && !here.includes(one));
    if (here.length === 0 && gone.length === 0) return;
    this.#merge(here, new Set(gone.map(({ session_id: id }) => id)));
  }

  /** Changes one conversation. One that is not in the list may be on a page that is read, or belong there now. */
  patch(id: string, change: Change): void {
    const one = this.state.get().rows.find(({ session_id }) => session_id === id);
    if (one !== undefined) return this.change([change(one)]);
    for (const { changes } of this.#underWay) changes.set(id, [...(changes.get(id) ?? []), change]);
    void this.refresh();
  }

  end(): void {
    this.#ending.abort();
  }

  /** The answers of all requests under way are older than these conversations; of `since`, only of those sent before it. */
  #note(ids: readonly string[], since?: Meanwhile): void {
    for (const meanwhile of this.#underWay) {
      if (meanwhile === since) return;
      for (const id of ids) meanwhile.known.add(id);
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
