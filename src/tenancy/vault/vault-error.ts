export type VaultFailure =
  /** The configured master keys do not match the database. */
  | 'wrong-master-key'
  /** The key is available, but the bytes cannot be opened with it. */
  | 'unreadable'
  /** A rotation to another key has begun. */
  | 'rotation-superseded';

/** An error of the vault, in words for the operator. Never contains a value or a key. */
export class VaultError extends Error {
  override readonly name = 'VaultError';
  readonly failure: VaultFailure;

  constructor(failure: VaultFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}
