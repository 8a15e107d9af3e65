import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The master key of a single node: created once, stored in the data folder, readable only by the owner. */
export async function masterKeyOf(dataDir: string): Promise<string> {
  const path = join(dataDir, 'master.key');
  try {
    await writeFile(path, `${randomBytes(32).toString('base64')}\n`, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    // EEXIST: an earlier start created the key. The read below reports any other problem.
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
  return (await readFile(path, 'utf8')).trim();
}
