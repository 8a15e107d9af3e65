import type { BatchTarget } from '../../infra/storage/index.js';
import { StoreError } from '../../infra/storage/index.js';
import type { SenderResponse } from '../messages/sender-response.js';
import { plainList } from '../../infra/storage/index.js';

/**
 * An answer to put into the outbox. Its id, which identifies the row, is fixed before the first attempt to write it.
 */
export interface FinishedAnswer {
  readonly id: string;
  readonly executionId: string;
  /** The message's position in the order of acceptance. */
  readonly place: number;
  readonly chunkTotal: number;
  readonly truncated: boolean;
  readonly sealed: Buffer;
  /** Whether the caller would send it immediately. */
  readonly mayBegin: boolean;
}

/** A message whose turn has ended. */
export interface FinishedRow {
  readonly tenant_id: string;
  readonly trigger_id: string;
  readonly session_id: string;
  /** The key of its inbox row; undefined for a message without a promised answer. */
  readonly key: string | undefined;
  /** The response to its sender, kept for repeats. */
  readonly kept: SenderResponse | undefined;
  /** The reply route of the message, for manual answers. */
  readonly reply: Buffer | undefined;
  /** The answer's own position in a mail thread. */
  readonly mail: { readonly messageId: string; readonly thread: string } | undefined;
  readonly answer: FinishedAnswer | undefined;
}

export interface Finish {
  /** When the answer was created, if its first attempt was started for the caller. */
  readonly begunAt: Date | undefined;
  /** Whether answers wait in the session that may be sent now. */
  readonly waits: boolean;
}

/** Finishes messages of many tenants in one call. The SQL function's comment explains the details. */
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
        // An answer that was written but not started waits as well.
        return { begunAt, waits: waiting.has(index) || (answer !== undefined && begunAt === undefined) };
      });
    },
  };
}

/**
 * Concatenates the bytes of many rows into one parameter, sent as bytes; a list of bytea would be sent as hexadecimal
 * text.
 */
class Pieces {
  readonly #all: Buffer[] = [];
  #end = 1;

  /** Returns the start and length of the piece; length 0 for no piece. */
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
