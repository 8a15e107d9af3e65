import type { BatchTarget } from '../../infra/storage/index.js';
import { StoreError } from '../../infra/storage/index.js';
import type { SenderResponse } from '../messages/sender-response.js';
import { plainList } from '../../infra/storage/index.js';

/** An answer on its way out. Its id, and so the row, is fixed before the first attempt to write it. */
export interface FinishedAnswer {
  readonly id: string;
  readonly executionId: string;
  /** Of the message in the order of acceptance. */
  readonly place: number;
  readonly chunkTotal: number;
  readonly truncated: boolean;
  readonly sealed: Buffer;
  /** Whether the caller would go on to send it at once. */
  readonly mayBegin: boolean;
}

/** A message whose turn is over. */
export interface FinishedRow {
  readonly tenant_id: string;
  readonly trigger_id: string;
  readonly session_id: string;
  /** Of its row in the inbox; undefined for one that nobody was promised anything for. */
  readonly key: string | undefined;
  /** What its sender was told, for a repeat. */
  readonly kept: SenderResponse | undefined;
  /** How it came in, for whoever answers by hand. */
  readonly reply: Buffer | undefined;
  /** The answer's own place in a thread of mails. */
  readonly mail: { readonly messageId: string; readonly thread: string } | undefined;
  readonly answer: FinishedAnswer | undefined;
}

export interface Finish {
  /** When the answer was put out, whose first attempt is the caller's to make; undefined where it is not. */
  readonly begunAt: Date | undefined;
  /** Answers wait in the session that may go on now. */
  readonly waits: boolean;
}

/** Many messages of many tenants in one call; see the function's own words. */
export function finishTarget({ holdMs }: { readonly holdMs: number }): BatchTarget<FinishedRow, Finish> {
  return {
    name: 'batch_finish_trigger_messages',
    text: `select answer_id::text, begun, answer_created_at, waits
      from finish_trigger_messages($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
        ${holdMs})`,
    shareOf: ({ tenant_id }) => tenant_id,
    bytesOf: ({ reply, answer }) => (reply?.byteLength ?? 0) + (answer?.sealed.byteLength ?? 0) + 512,
    values: (rows) => {
      const pieces = new Pieces();
      const replies = rows.map(({ reply }) => pieces.add(reply));
      const contents = rows.map(({ answer }) => pieces.add(answer?.sealed));
      return [
        plainList(rows.map((row) => row.tenant_id)),
        plainList(rows.map((row) => row.trigger_id)),
        plainList(rows.map((row) => row.session_id)),
        rows.map(({ key }) => key ?? null),
        rows.map(({ kept }) => (kept === undefined ? null : JSON.stringify(kept))),
        plainList(replies.map(({ at }) => at)),
        plainList(replies.map(({ bytes }) => bytes)),
        rows.map(({ mail }) => mail?.messageId ?? null),
        rows.map(({ mail }) => mail?.thread ?? null),
        plainList(rows.map(({ answer }) => answer?.id ?? 'null')),
        plainList(rows.map(({ answer }) => answer?.executionId ?? 'null')),
        plainList(rows.map(({ answer }) => answer?.place ?? 'null')),
        plainList(rows.map(({ answer }) => answer?.chunkTotal ?? 'null')),
        plainList(rows.map(({ answer }) => answer?.truncated ?? 'null')),
        plainList(contents.map(({ at }) => at)),
        plainList(contents.map(({ bytes }) => bytes)),
        plainList(rows.map(({ answer }) => answer?.mayBegin ?? 'null')),
        pieces.joined(),
      ];
    },
    outcomes: (rows, returned) => {
      const begun = new Map<string, Date>();
      const waiting = new Set<number>();
      for (const row of returned) {
        const { id, begunAt, waits } = readReturned(row);
        if (id !== undefined && begunAt !== undefined) begun.set(id, begunAt);
        if (waits !== undefined) waiting.add(waits - 1);
      }
      return rows.map(({ answer }, index) => {
        const begunAt = answer === undefined ? undefined : begun.get(answer.id);
        // What was put out and not begun waits as well.
        return { begunAt, waits: waiting.has(index) || (answer !== undefined && begunAt === undefined) };
      });
    },
  };
}

/** Bytes of many rows in one piece, which goes as bytes; a list of bytes would go as hexadecimal text. */
class Pieces {
  readonly #all: Buffer[] = [];
  #end = 1;

  /** Where it begins, and its length: none for nothing. */
  add(piece: Buffer | undefined): { readonly at: number; readonly bytes: number } {
    if (piece === undefined) return { at: 1, bytes: 0 };
    const at = this.#end;
    this.#all.push(piece);
    this.#end += piece.byteLength;
    return { at, bytes: piece.byteLength };
  }

  joined(): Buffer {
    return Buffer.concat(this.#all);
  }
}

interface Returned {
  readonly id: string | undefined;
  readonly begunAt: Date | undefined;
  readonly waits: number | undefined;
}

function readReturned(row: unknown): Returned {
  if (typeof row !== 'object' || row === null) throw new StoreError('unexpected-row', 'Finishing a message');
  const field = (name: string): unknown => Reflect.get(row, name);
  const [id, at, waits] = [field('answer_id'), field('answer_created_at'), field('waits')];
  return {
    id: typeof id === 'string' ? id : undefined,
    begunAt: field('begun') === true && at instanceof Date ? at : undefined,
    waits: waits === null ? undefined : Number(waits),
  };
}
