export type MigrationFailure =
  | 'changed'
  | 'newer-database'
  | 'unsupported-database'
  | 'privileges'
  | 'bad-file'
  | 'failed';

/** Why the schema could not be brought up to date; the message says what to do. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';
  readonly failure: MigrationFailure;

  constructor(failure: MigrationFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}
