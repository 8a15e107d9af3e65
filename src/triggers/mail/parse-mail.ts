import { createHash } from 'node:crypto';
import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  type AddressObject,
  type AttachmentStream,
  type Headers,
  MailParser,
  type MessageText,
} from 'mailparser';

/** A mail, as far as triggers read it. What is attached is named and not kept. */
export interface ParsedMail {
  /** Its Message-ID without brackets; for a mail without one, a digest of the whole. */
  readonly id: string;
  readonly hasMessageId: boolean;
  readonly inReplyTo: readonly string[];
  /** The oldest first. */
  readonly references: readonly string[];
  readonly subject: string;
  /** In lower case; undefined where nobody signs for the mail. */
  readonly sender: string | undefined;
  readonly senderName: string | undefined;
  readonly text: string;
  readonly attachments: readonly string[];
  readonly headers: MailHeaders;
}

/** One line of each header that tells whether a person wrote the mail. */
export interface MailHeaders {
  readonly autoSubmitted: string | undefined;
  readonly precedence: string | undefined;
  readonly listId: string | undefined;
  readonly contentType: string | undefined;
  /** Empty for `<>`. */
  readonly returnPath: string | undefined;
}

const htmlCharsMax = 1_000_000;
const textCharsMax = 100_000;
const subjectCharsMax = 1_000;
const attachmentsMax = 50;
const fileNameCharsMax = 200;
const idCharsMax = 400;
const referencesMax = 100;

/** Reads a mail as it arrives. Rejects with what breaks the stream; what is odd in a mail is read as well as it can be. */
export async function parseMail(source: Readable): Promise<ParsedMail> {
  const digest = createHash('sha256');
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
    // Read to its end and let go, for the parser to go on.
    part.content.on('end', () => part.release());
    part.content.on('data', () => undefined);
  });
  const hashing = new PassThrough();
  hashing.on('data', (chunk: Buffer) => digest.update(chunk));
  const parsed = new Promise<void>((resolve) => parser.once('end', resolve));
  // Of parts that cannot be read it says so here and goes on; a broken stream is told by the pipeline.
  parser.on('error', () => undefined);
  await Promise.all([pipeline(source, hashing, parser), parsed]);
  return mailOf(headers, text, attachments, digest.digest('hex'));
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
    subject: typeof subject === 'string' ? oneLine(subject).slice(0, subjectCharsMax) : '',
    sender: sender === undefined || !/^[^\s@]+@[^\s@]+$/.test(sender) ? undefined : sender.slice(0, 255),
    senderName: from === undefined || from.name.trim() === '' ? undefined : oneLine(from.name).slice(0, 255),
    // PostgreSQL holds no NUL in text.
    text: text.replaceAll('\0', '').slice(0, textCharsMax),
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
  return oneLine(name).slice(0, fileNameCharsMax);
}

function oneLine(text: string): string {
  return text.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim();
}

/** Message-IDs, in brackets or, as some write them, without. */
function idsIn(value: unknown): readonly string[] {
  const text = Array.isArray(value) ? value.join(' ') : typeof value === 'string' ? value : '';
  const found = text.match(/[^\s<>,]+/g) ?? [];
  return found.slice(-referencesMax).map((id) => (id.length > idCharsMax ? digestOf(id) : id));
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
  if (typeof one === 'string') return one.trim().toLowerCase();
  if (typeof one !== 'object' || one === null) return undefined;
  const main: unknown = Reflect.get(one, 'value');
  return typeof main === 'string' ? main.trim().toLowerCase() : undefined;
}
