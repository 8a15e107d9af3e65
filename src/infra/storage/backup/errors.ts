export type BackupFailure =
  /** The folder for the backup exists already. */
  | 'folder-exists'
  /** The folder cannot be written. */
  | 'not-written'
  /** A table or a partition that this version cannot back up whole. */
  | 'incomplete'
  /** There is no backup in the folder, or its files are not those that were written. */
  | 'damaged'
  /** The backup's format is newer than this version. */
  | 'other-format'
  /** The database or the program has other migrations than the backup. */
  | 'other-schema'
  | 'not-empty'
  /** Somebody else is connected to the database. */
  | 'in-use';

/** Why a backup was not made or not restored; the message says what to do. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
  readonly failure: BackupFailure;

  constructor(failure: BackupFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}
