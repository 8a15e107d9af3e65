import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../clocks/eventually.js';

/** The folder into which a node without a mail server writes its mails. */
export interface MailFolder {
  readonly path: string;
  /** All mails, oldest first. */
  read(): Promise<readonly string[]>;
  /** The first mail that contains the text, once it exists. */
  mailWith(text: string): Promise<string>;
  remove(): Promise<void>;
}

export async function createMailFolder(): Promise<MailFolder> {
  const parent = await mkdtemp(join(tmpdir(), 'troupe-mail-'));
  const path = join(parent, 'outbox');
  await mkdir(path);
  const read = async (): Promise<readonly string[]> => {
    const names = (await readdir(path)).toSorted();
    return Promise.all(names.map((name) => readFile(join(path, name), 'utf8')));
  };
  return {
    path,
    read,
    mailWith: (text) => eventually(async () => (await read()).find((mail) => mail.includes(text))),
    remove: () => rm(parent, { recursive: true, force: true }),
  };
}
