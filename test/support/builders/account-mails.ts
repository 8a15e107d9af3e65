import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { simpleParser } from 'mailparser';
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

/** Finding the links of a text takes the parser longer than everything else. */
const textOnly = { skipTextToHtml: true, skipTextLinks: true, skipImageLinks: true };

/**
 * The tokens of the links to a page in all mails to an address, oldest mail first. The text part is read through its
 * encoding: where no encoding is used, a token that begins with `3D` stands as it is.
 */
export async function linksTo(
  folder: Pick<MailFolder, 'read'>,
  page: 'verify' | 'reset' | 'join',
  email: string,
): Promise<readonly string[]> {
  const mails = (await folder.read()).filter((mail) => mail.includes(`To: ${email}`));
  const texts = await Promise.all(mails.map(async (mail) => (await simpleParser(mail, textOnly)).text ?? ''));
  return texts.flatMap((text) => {
    const token = new RegExp(`/${page}\\?token=([\\w-]+)`).exec(text)?.[1];
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
