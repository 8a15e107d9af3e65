export type IgnoredReason = 'requires_admin_api_key' | 'reserved_key' | 'unknown_field' | 'not_supported';

export interface IgnoredField {
  readonly field: string;
  readonly reason: IgnoredReason;
}

/** A body of megabytes may contain thousands of unknown names; the first ones show the sender what is wrong. */
const unknownMax = 100;
const fieldCharactersMax = 160;

/** The ignored fields of a body, in its order, each field once. */
export class IgnoredFields {
  readonly #entries = new Map<string, IgnoredField>();
  #unknown = 0;

  /** A field that the platform knows by name: each is listed, whatever else the body has. */
  add(field: string, reason: IgnoredReason): void {
    const shown = field.length <= fieldCharactersMax ? field : `${field.slice(0, fieldCharactersMax)}…`;
    if (!this.#entries.has(shown)) this.#entries.set(shown, { field: shown.toWellFormed(), reason });
  }

  /** A field whose name only the sender knows. */
  addUnknown(field: string, reason: 'unknown_field' | 'not_supported'): void {
    if (this.#unknown >= unknownMax) return;
    const before = this.#entries.size;
    this.add(field, reason);
    this.#unknown += this.#entries.size - before;
  }

  list(): readonly IgnoredField[] {
    return [...this.#entries.values()];
  }
}
