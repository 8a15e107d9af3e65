import { mkdirSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { createTransport } from 'nodemailer';
import type { Ids } from '../../kernel/chance.js';
import { makeFolder } from '../storage/index.js';
import { MailError, type MailTransport, messageOf } from './transport.js';

/**
 * Writes mails as `.eml` files, for machines without a mail server. The file name contains the mail's id, so a repeat
 * replaces the file; a file appears only when it is complete.
 */
export function createOutboxFolder(directory: string, ids: Ids): MailTransport {
  const composer = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });
  makeAhead(directory);
  return {
    async send(mail) {
      try {
        const { message } = await composer.sendMail(messageOf(mail));
        await makeFolder(directory);
        const at = mail.date.toISOString().replaceAll(/[-:]/g, '').slice(0, 15);
        // Written beside the folder, so that readers of the folder see only complete mails. Another node may write the
        // same mail, so the name is this attempt's own.
        const part = join(dirname(directory), `.${basename(directory)}-${mail.id}-${ids.uuid()}.part`);
        const content = Buffer.isBuffer(message) ? message : await buffer(message);
        await writeWhole(part, content, join(directory, `${at}-${mail.id}.eml`));
        await syncFolder(directory);
      } catch (cause) {
        throw new MailError(`The mail could not be written to ${directory}.`, { final: false, cause });
      }
    },
    close: async () => undefined,
  };
}

/** Creates the folder early, so that it exists before the first mail. */
function makeAhead(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  } catch {
    // The first mail reports the problem when it cannot be written.
  }
}

async function writeWhole(part: string, content: Uint8Array, path: string): Promise<void> {
  try {
    await writeDurably(part, content);
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}

/** A mail may contain a sign-in link: only the owner of the folder may read it. */
async function writeDurably(path: string, content: Uint8Array): Promise<void> {
  const file = await open(path, 'w', 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Makes the new name itself survive a power failure. */
async function syncFolder(directory: string): Promise<void> {
  const folder = await open(directory, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
