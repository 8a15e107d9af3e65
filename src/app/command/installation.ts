import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The master key of a node on its own: made once, kept in its data folder, readable by its owner only. */
export async function masterKeyOf(dataDir: string): Promise<string> {
  const path = join(dataDir, 'master.key');
  try {
    await writeFile(path, `${randomBytes(32).toString('base64')}\n`, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    // It is there already, from an earlier start; anything else the read below reports.
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
  return (await readFile(path, 'utf8')).trim();
}
