import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '../clocks/eventually.js';
import type { MailFolder } from '../servers/mail-folder.js';

/** The mails that a node without a mail server has written, oldest first. */
export function mailsOf({ dataDir }: { readonly dataDir: string }): Pick<MailFolder, 'read'> {
  const folder = join(dataDir, 'outbox');
  return {
    async read() {
      const names = (await readdir(folder).catch((): string[] => [])).toSorted();
      return Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
    },
  };
}

/** A written mail with the folds of its encoding undone. */
export function unfolded(mail: string): string {
  return mail.replaceAll('=\r\n', '').replaceAll('=3D', '=');
}

/** The tokens of the links to a page in all mails to an address, oldest mail first. */
export async function linksTo(
  folder: Pick<MailFolder, 'read'>,
  page: 'verify' | 'reset' | 'join',
  email: string,
): Promise<readonly string[]> {
  const mails = (await folder.read()).filter((mail) => mail.includes(`To: ${email}`));
  return mails.flatMap((mail) => {
    const token = new RegExp(`/${page}\\?token=([\\w-]+)`).exec(unfolded(mail))?.[1];
    return token === undefined ? [] : [token];
  });
}

/** The token of a link, when the mail is there. */
export async function linkTo(
  folder: Pick<MailFolder, 'read'>,
  page: 'verify' | 'reset' | 'join',
  email: string,
): Promise<string> {
  return eventually(async () => (await linksTo(folder, page, email)).at(-1));
}
