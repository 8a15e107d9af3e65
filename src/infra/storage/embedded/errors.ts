export type EmbeddedPostgresFailure =
  | 'not-installed'
  | 'in-use'
  | 'no-account'
  | 'foreign-folder'
  | 'wrong-version'
  | 'not-started'
  | 'keeper-lost';

/** Why the embedded PostgreSQL could not be started; the message says how to mend it. */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError';
  readonly failure: EmbeddedPostgresFailure;

  constructor(failure: EmbeddedPostgresFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}
