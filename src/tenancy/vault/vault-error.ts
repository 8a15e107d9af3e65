export type VaultFailure =
  /** The settings' master keys do not fit the database. */
  | 'wrong-master-key'
  /** A key at hand, but the bytes do not open with it. */
  | 'unreadable'
  /** Another rotation, to another key, has begun. */
  | 'rotation-superseded';

/** What the vault can fail with, in words for the operator. Never carries a value or a key. */
export class VaultError extends Error {
  override readonly name = 'VaultError';
  readonly failure: VaultFailure;

  constructor(failure: VaultFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}
