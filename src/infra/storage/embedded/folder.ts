// The folder that PostgreSQL's account owns. It alone changes hands: the folders above it stay as they are,
// since the keeper stands inside it before it becomes that account.
import { constants } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import type { Account } from './account.js';
import { EmbeddedPostgresError } from './errors.js';

/** What earlier starts left there. */
const ownNames = /^(?:data|data\.[0-9a-f]+\.unfinished(?:\.password)?)$/;

/**
 * Gives the working directory to the account. By the open directory and not by its name, which somebody could make a
 * link to another place meanwhile; and only where it is root's and holds nothing but PostgreSQL's data.
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
        `${directory} is not PostgreSQL's alone: it ${reason}. Move that away, or choose another TROUPE_DATA_DIR.`,
      );
    }
    await folder.chmod(0o700);
    await folder.chown(account.uid, account.gid);
  } finally {
    await folder.close();
  }
}
