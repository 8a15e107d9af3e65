/** A message whose turn has not ended, as far as this page knows. */
export interface PendingMessage {
  readonly text: string;
  /** Sent again with it, the message joins its turn. */
  readonly idempotencyKey: string;
  readonly executionId?: string | undefined;
}

/** What the browser remembers of its visitor. The secret opens the conversation, so it stays in this origin. */
export interface Visitor {
  readonly secret?: string | undefined;
  readonly sessionId?: string | undefined;
  readonly pending?: PendingMessage | undefined;
  readonly isOpen?: boolean | undefined;
}

/** Keeps the visitor over reloads; a browser without storage forgets it with the page. */
export class VisitorStore {
  readonly #name: string;
  #visitor: Visitor = {};

  constructor(key: string, agent: string) {
    this.#name = `troupe-chat/${key}/${agent}`;
    try {
      const kept: unknown = JSON.parse(localStorage.getItem(this.#name) ?? '{}');
      if (typeof kept === 'object' && kept !== null) this.#visitor = kept;
    } catch {
      // Blocked, or not written by this code: the conversation begins anew.
    }
  }

  get visitor(): Visitor {
    return this.#visitor;
  }

  change(fields: Partial<Visitor>): void {
    this.#visitor = { ...this.#visitor, ...fields };
    try {
      localStorage.setItem(this.#name, JSON.stringify(this.#visitor));
    } catch {
      // Blocked or full: the conversation lasts as long as the page.
    }
  }
}
