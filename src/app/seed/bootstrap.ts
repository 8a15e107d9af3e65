import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

/** The data that a person who tries the product needs to sign in and to call it. */
const bootstrapShape = z.object({
  base_url: z.string(),
  tenant_url: z.string(),
  tenant_id: z.uuid(),
  owner: z.object({ email: z.string(), password: z.string() }),
  access_token: z.string(),
  api_key: z.string(),
  agent_id: z.uuid(),
});

export type Bootstrap = z.output<typeof bootstrapShape>;

const fileName = 'bootstrap.json';

/** The file of an earlier start; undefined if it is absent or damaged. */
export async function readBootstrap(dataDir: string): Promise<Bootstrap | undefined> {
  let text: string;
  try {
    text = await readFile(join(dataDir, fileName), 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
  const result = bootstrapShape.safeParse(parsed(text));
  return result.success ? result.data : undefined;
}

/** Renames a complete file into place, so that readers never see a partial one. */
export async function writeBootstrap(dataDir: string, bootstrap: Bootstrap): Promise<void> {
  const path = join(dataDir, fileName);
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, `${JSON.stringify(bootstrap, null, 2)}\n`, { mode: 0o600 });
  await rename(draft, path);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // A damaged file is written anew, like a missing one.
    return undefined;
  }
}
