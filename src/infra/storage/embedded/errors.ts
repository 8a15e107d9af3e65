export type EmbeddedPostgresFailure =
  | 'not-installed'
  | 'in-use'
  | 'no-account'
  | 'foreign-folder'
  | 'wrong-version'
  | 'not-started'
  | 'keeper-lost';

/** The reason why the embedded PostgreSQL could not be started; the message says how to fix it. */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError';
  readonly failure: EmbeddedPostgresFailure;

  constructor(failure: EmbeddedPostgresFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}
