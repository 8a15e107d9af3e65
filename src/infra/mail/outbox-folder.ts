import { mkdirSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { createTransport } from 'nodemailer';
import { makeFolder } from '../storage/index.js';
import { MailError, type MailTransport, messageOf } from './transport.js';

/**
 * Writes mails as `.eml` files, for machines without a mail server. A file is named by its mail, so a repeat replaces
 * it, and it appears whole or not at all.
 */
export function createOutboxFolder(directory: string): MailTransport {
  const composer = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });
  makeAhead(directory);
  return {
    async send(mail) {
      try {
        const { message } = await composer.sendMail(messageOf(mail));
        await makeFolder(directory);
        const at = mail.date.toISOString().replaceAll(/[-:]/g, '').slice(0, 15);
        // Beside the folder, so that whoever reads the folder sees whole mails alone.
        const part = join(dirname(directory), `.${basename(directory)}-${mail.id}.part`);
        await writeDurably(part, Buffer.isBuffer(message) ? message : await buffer(message));
        await rename(part, join(directory, `${at}-${mail.id}.eml`));
        await syncFolder(directory);
      } catch (cause) {
        throw new MailError(`The mail could not be written to ${directory}.`, { final: false, cause });
      }
    },
    close: async () => undefined,
  };
}

/** Whoever looks for mails before the first one finds an empty folder rather than none. */
function makeAhead(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  } catch {
    // What is in its way is told when the first mail cannot be written.
  }
}

/** A mail may let somebody in: only the owner of the folder reads it. */
async function writeDurably(path: string, content: Uint8Array): Promise<void> {
  const file = await open(path, 'w', 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** The new name itself must outlast a power cut too. */
async function syncFolder(directory: string): Promise<void> {
  const folder = await open(directory, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
