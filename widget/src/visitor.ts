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

/**
 * Keeps the visitor over reloads; a browser without storage forgets it with the page. Pages of one site share what is
 * kept, and each goes on with what it read when it was loaded.
 */
export class VisitorStore {
  readonly #name: string;
  #visitor: Visitor;

  constructor(key: string, agent: string) {
    this.#name = `troupe-chat/${key}/${agent}`;
    this.#visitor = this.#kept() ?? {};
  }

  get visitor(): Visitor {
    return this.#visitor;
  }

  /** The secret that another page has made since this one was loaded. */
  takeSecret(): string | undefined {
    const secret = this.#kept()?.secret;
    if (secret !== undefined) this.#visitor = { ...this.#visitor, secret };
    return secret;
  }

  /**
   * Writes these fields alone: what another page has written since stays. Secret, conversation and message belong
   * together, so a page whose visitor is no longer the kept one changes them for itself, until it is left.
   */
  change(fields: Partial<Visitor>): void {
    const { secret } = this.#visitor;
    this.#visitor = { ...this.#visitor, ...fields };
    const kept = this.#kept();
    // A site may have emptied its storage: then all is written again.
    if (kept === undefined) this.#keep(this.#visitor);
    else if (secret === undefined || secret === kept.secret) this.#keep({ ...kept, ...fields });
    else if (fields.isOpen !== undefined) this.#keep({ ...kept, isOpen: fields.isOpen });
  }

  /** Forgets visitor and conversation, also those that another page has begun since. */
  forget(): void {
    const { isOpen } = this.#visitor;
    this.#visitor = { isOpen };
    this.#keep(this.#visitor);
  }

  #keep(visitor: Visitor): void {
    try {
      localStorage.setItem(this.#name, JSON.stringify(visitor));
    } catch {
      // Blocked or full: the conversation lasts as long as the page.
    }
  }

  #kept(): Visitor | undefined {
    try {
      const kept: unknown = JSON.parse(localStorage.getItem(this.#name) ?? 'null');
      return typeof kept === 'object' && kept !== null ? kept : undefined;
    } catch {
      // Blocked, or not written by this code: the conversation begins anew.
      return undefined;
    }
  }
}
