// The files of a backup, as streams: a table of any size takes little memory.
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { BackupError } from './errors.js';
import { fileOf, type TableEntry } from './manifest.js';

export type Written = Pick<TableEntry, 'bytes' | 'sha256'>;

/** Measures the bytes that pass. */
class Measure {
  readonly #hash = createHash('sha256');
  #bytes = 0;

  async *through(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of source) {
      this.#hash.update(chunk);
      this.#bytes += chunk.length;
      yield chunk;
    }
  }

  result(): Written {
    return { bytes: this.#bytes, sha256: this.#hash.digest('hex') };
  }
}

/** Compresses the rows into a new file, which is on the disk when this ends. */
export async function writeTable(folder: string, table: string, rows: Readable): Promise<Written> {
  const measure = new Measure();
  const file = createWriteStream(join(folder, fileOf(table)), { flags: 'wx', mode: 0o600, flush: true });
  await pipeline(rows, createGzip(), (source: AsyncIterable<Buffer>) => measure.through(source), file);
  return measure.result();
}

/** Refuses a file that is missing or is not the one that was written. */
export async function checkTable(folder: string, table: TableEntry): Promise<void> {
  const path = join(folder, fileOf(table.name));
  const size = await stat(path).then(
    (found) => found.size,
    (cause: unknown) => {
      throw damaged(path, 'it cannot be read', cause);
    },
  );
  if (size !== table.bytes) throw damaged(path, `it has ${size} bytes instead of ${table.bytes}`);
  const measure = new Measure();
  await pipeline(createReadStream(path), async (source: AsyncIterable<Buffer>) => {
    for await (const _ of measure.through(source));
  });
  refuseOther(path, table, measure);
}

/** Passes the rows on; rejects at the end if the file changed since it was checked. */
export async function readTable(folder: string, table: TableEntry, rows: Writable): Promise<void> {
  const path = join(folder, fileOf(table.name));
  const measure = new Measure();
  await pipeline(
    createReadStream(path),
    (source: AsyncIterable<Buffer>) => measure.through(source),
    createGunzip(),
    rows,
  );
  refuseOther(path, table, measure);
}

function refuseOther(path: string, table: TableEntry, measure: Measure): void {
  if (measure.result().sha256 !== table.sha256)
    throw damaged(path, 'its content is not what was written (SHA-256)');
}

function damaged(path: string, reason: string, cause?: unknown): BackupError {
  return new BackupError('damaged', `${path} is damaged: ${reason}. Use another copy of the backup.`, {
    cause,
  });
}

/** A new or renamed file survives a power cut only when its folder is flushed too. */
export async function flushFolder(folder: string): Promise<void> {
  const opened = await open(folder);
  try {
    await opened.sync();
  } finally {
    await opened.close();
  }
}
