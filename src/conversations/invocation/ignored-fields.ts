export type IgnoredReason = 'requires_admin_api_key' | 'reserved_key' | 'unknown_field' | 'not_supported';

export interface IgnoredField {
  readonly field: string;
  readonly reason: IgnoredReason;
}

/** A body of megabytes may contain thousands of unknown names; the first ones show the sender what is wrong. */
const entriesMax = 100;
const fieldCharactersMax = 160;

/** The ignored fields of a body, in its order, each field once. */
export class IgnoredFields {
  readonly #entries = new Map<string, IgnoredField>();

  add(field: string, reason: IgnoredReason): void {
    if (this.#entries.size >= entriesMax) return;
    const shown = field.length <= fieldCharactersMax ? field : `${field.slice(0, fieldCharactersMax)}…`;
    if (!this.#entries.has(shown)) this.#entries.set(shown, { field: shown.toWellFormed(), reason });
  }

  list(): readonly IgnoredField[] {
    return [...this.#entries.values()];
  }
}
