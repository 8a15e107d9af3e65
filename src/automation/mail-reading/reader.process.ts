// Runs in a separate process that may be killed at any moment, because mails are untrusted.
import type { DNSResolver } from 'mailauth';
import { refuseTooComplex } from './count-parts.js';
import { parseMail } from './parse-mail.js';
import { type ReadOutcome, UnreadableMail } from './parsed-mail.js';
import type { FromReader, ToReader } from './protocol.js';

interface Asked {
  readonly resolve: (records: never[]) => void;
  readonly reject: (error: Error) => void;
}

const asked = new Map<number, Asked>();
let queries = 0;

/** The node resolves names, and bounds their number and time. */
const resolver: DNSResolver = (name, type) =>
  new Promise((resolve, reject) => {
    queries += 1;
    asked.set(queries, { resolve, reject });
    tell({ kind: 'query', query: queries, name, type });
  });

process.on('message', (message: ToReader) => {
  if (message.kind === 'read') void read(message);
  else answer(message);
});
// The node has ended.
process.on('disconnect', () => process.exit());
tell({ kind: 'ready' });

function tell(message: FromReader): void {
  process.send?.(message);
}

async function read({ raw, check }: Extract<ToReader, { kind: 'read' }>): Promise<void> {
  tell({ kind: 'done', outcome: await outcomeOf(Buffer.from(raw), check) });
}

async function outcomeOf(
  raw: Buffer,
  check: Extract<ToReader, { kind: 'read' }>['check'],
): Promise<ReadOutcome> {
  try {
    refuseTooComplex(raw);
  } catch (error) {
    return { unreadable: reasonOf(error), spent: false };
  }
  try {
    const mail = await parseMail(raw);
    if (check === undefined) return { mail, verdict: 'unchecked' };
    // Loaded only by nodes that check senders.
    const { checkSender } = await import('./check-sender.js');
    return { mail, verdict: await checkSender(raw, mail, check, resolver) };
  } catch (error) {
    return { unreadable: reasonOf(error), spent: true };
  }
}

function reasonOf(error: unknown): string {
  return error instanceof UnreadableMail ? error.message : 'The mail cannot be read.';
}

function answer(message: Exclude<ToReader, { kind: 'read' }>): void {
  const waiting = asked.get(message.query);
  asked.delete(message.query);
  if (message.kind === 'records') waiting?.resolve(message.records as never[]);
  else waiting?.reject(Object.assign(new Error(`DNS: ${message.code}`), { code: message.code }));
}
