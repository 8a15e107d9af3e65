import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from './eventually.js';

/** The folder into which a node without a mail server writes its mails. */
export interface MailFolder {
  readonly path: string;
  /** All whole mails, oldest first. */
  read(): Promise<readonly string[]>;
  /** The first mail that contains the text, when it is there. */
  mailWith(text: string): Promise<string>;
  remove(): Promise<void>;
}

export async function createMailFolder(): Promise<MailFolder> {
  const path = await mkdtemp(join(tmpdir(), 'troupe-outbox-'));
  const read = async (): Promise<readonly string[]> => {
    const names = (await readdir(path)).filter((name) => name.endsWith('.eml')).toSorted();
    return Promise.all(names.map((name) => readFile(join(path, name), 'utf8')));
  };
  return {
    path,
    read,
    mailWith: (text) => eventually(async () => (await read()).find((mail) => mail.includes(text))),
    remove: () => rm(path, { recursive: true, force: true }),
  };
}
