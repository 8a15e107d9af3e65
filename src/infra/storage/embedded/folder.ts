// The folder owned by PostgreSQL's account. Only this folder changes its owner, not the folders above it: the keeper's
// working directory is inside it before it switches the account.
import { constants } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import type { Account } from './account.js';
import { EmbeddedPostgresError } from './errors.js';

/** Names left by earlier starts. */
const ownNames = /^(?:data|data\.[0-9a-f]+\.unfinished(?:\.password)?)$/;

/**
 * Gives the working directory to the account. Uses the open directory, not its name, which could meanwhile be replaced by
 * a link; and only if root owns it and it contains nothing but PostgreSQL's data.
 */
export async function giveFolder(directory: string, account: Account): Promise<void> {
  const folder = await open('.', constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    const { uid } = await folder.stat();
    if (uid === account.uid) return;
    const foreign = (await readdir('.')).find((name) => !ownNames.test(name));
    if (uid !== 0 || foreign !== undefined) {
      const reason = uid === 0 ? `holds ${foreign}` : `belongs to the account with user id ${uid}`;
      throw new EmbeddedPostgresError(
        'foreign-folder',
        `${directory} must contain only PostgreSQL's data, but it ${reason}. Move that away, or choose another TROUPE_DATA_DIR.`,
      );
    }
    await folder.chmod(0o700);
    await folder.chown(account.uid, account.gid);
  } finally {
    await folder.close();
  }
}
