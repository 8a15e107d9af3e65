import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  type AddressObject,
  type AttachmentStream,
  type Headers,
  MailParser,
  type MessageText,
} from 'mailparser';
import { type ParsedMail, UnreadableMail } from './parsed-mail.js';

const htmlCharsMax = 1_000_000;
const textCharsMax = 100_000;
const subjectCharsMax = 1_000;
const attachmentsMax = 50;
const fileNameCharsMax = 200;
const idCharsMax = 400;
const referencesMax = 100;
/** Without control characters: PostgreSQL text cannot contain NUL, and no mail program writes the others. */
const address = /^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u;

/** Parses a mail. Throws `UnreadableMail` if the parser gives up. */
export async function parseMail(raw: Buffer): Promise<ParsedMail> {
  const parser = new MailParser({
    maxHtmlLengthToParse: htmlCharsMax,
    skipTextToHtml: true,
    skipTextLinks: true,
    skipImageLinks: true,
  });
  let headers: Headers = new Map();
  let text = '';
  const attachments: string[] = [];
  parser.on('headers', (found: Headers) => (headers = found));
  parser.on('data', (part: AttachmentStream | MessageText) => {
    if (part.type === 'text') {
      text = typeof part.text === 'string' ? part.text : '';
      return;
    }
    if (attachments.length < attachmentsMax) attachments.push(nameOf(part));
    // Attachments are drained and dropped, so that the parser continues.
    part.content.on('end', () => part.release());
    part.content.on('data', () => undefined);
  });
  const parsed = new Promise<void>((resolve) => parser.once('end', resolve));
  try {
    await Promise.all([pipeline(Readable.from([raw]), parser), parsed]);
  } catch (error) {
    throw new UnreadableMail(`The mail cannot be read: ${reasonOf(error)}.`, { cause: error });
  }
  return mailOf(headers, text, attachments, createHash('sha256').update(raw).digest('hex'));
}

function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : 'the parser failed';
  return bounded(oneLine(message), 200).replace(/\.$/, '');
}

function mailOf(headers: Headers, text: string, attachments: string[], digest: string): ParsedMail {
  const [id] = idsIn(headers.get('message-id'));
  const [from] = addressesIn(headers.get('from'));
  const sender = from?.address?.trim().toLowerCase();
  const subject = headers.get('subject');
  return {
    id: id ?? digest,
    hasMessageId: id !== undefined,
    inReplyTo: idsIn(headers.get('in-reply-to')),
    references: idsIn(headers.get('references')),
    subject: typeof subject === 'string' ? bounded(oneLine(subject), subjectCharsMax) : '',
    sender: sender === undefined || !address.test(sender) ? undefined : bounded(sender, 255),
    senderName: from === undefined || from.name.trim() === '' ? undefined : bounded(oneLine(from.name), 255),
    // PostgreSQL text cannot contain NUL.
    text: bounded(text.replaceAll('\0', ''), textCharsMax),
    attachments,
    headers: {
      autoSubmitted: lineOf(headers.get('auto-submitted')),
      precedence: lineOf(headers.get('precedence')),
      listId: headers.has('list-id') || headers.has('list') ? 'list' : undefined,
      contentType: lineOf(headers.get('content-type')),
      returnPath: headers.has('return-path')
        ? (addressesIn(headers.get('return-path'))[0]?.address ?? '')
        : undefined,
    },
  };
}

function nameOf({ filename, contentType }: AttachmentStream): string {
  const name = filename === undefined || filename.trim() === '' ? contentType : filename;
  return bounded(oneLine(name), fileNameCharsMax);
}

/**
 * PostgreSQL refuses half of a surrogate pair, which a cut between the two leaves and some encodings contain: a mail with
 * one would fail on every delivery.
 */
function bounded(text: string, charsMax: number): string {
  return text.slice(0, charsMax).toWellFormed();
}

function oneLine(text: string): string {
  return text.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim();
}

/** Message-IDs, in angle brackets or, as some programs write them, without. */
function idsIn(value: unknown): string[] {
  const text = Array.isArray(value) ? value.join(' ') : typeof value === 'string' ? value : '';
  // PostgreSQL text cannot contain NUL: an id with one would fail on every delivery of the mail.
  const found = text.replaceAll(/[^\s\P{Cc}]/gu, '').match(/[^\s<>,]+/g) ?? [];
  return found.slice(-referencesMax).map((id) => (id.length > idCharsMax ? digestOf(id) : id.toWellFormed()));
}

function digestOf(id: string): string {
  return createHash('sha256').update(id).digest('hex');
}

function addressesIn(
  value: unknown,
): readonly { readonly address?: string | undefined; readonly name: string }[] {
  const objects = (Array.isArray(value) ? value : [value]) as readonly (AddressObject | string | undefined)[];
  return objects.flatMap((one) => (typeof one === 'object' && 'value' in one ? one.value : []));
}

function lineOf(value: unknown): string | undefined {
  const one: unknown = Array.isArray(value) ? value[0] : value;
  if (typeof one === 'string') return oneLine(one).toLowerCase();
  if (typeof one !== 'object' || one === null) return undefined;
  const main: unknown = Reflect.get(one, 'value');
  return typeof main === 'string' ? oneLine(main).toLowerCase() : undefined;
}
