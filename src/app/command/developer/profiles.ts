import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import type { Environment } from '../../../kernel/config/index.js';
import { CommandError } from '../command.js';

const profileShape = z.object({
  url: z.string(),
  api_key: z.string().optional(),
  operator_token: z.string().optional(),
});
const fileShape = z.object({ default: z.string(), profiles: z.record(z.string(), profileShape) });

export type Profile = z.output<typeof profileShape>;
type ProfileFile = z.output<typeof fileShape>;

/** What `npm start` leaves in its data folder. */
const bootstrapShape = z.object({ base_url: z.string(), api_key: z.string() });

export function profilesPath(environment: Environment): string {
  const folder = environment['XDG_CONFIG_HOME'] || join(environment['HOME'] || homedir(), '.config');
  return join(folder, 'troupe', 'credentials.json');
}

/**
 * The installation and credential of a command: those of the environment, else the named or default profile of
 * `troupe login`, else the installation that `npm start` keeps in this folder.
 */
export async function findProfile(environment: Environment, named: string | undefined): Promise<Profile> {
  const name = named ?? (environment['TROUPE_PROFILE'] || undefined);
  const file = await readProfiles(environment);
  const stored = file?.profiles[name ?? file.default];
  if (name !== undefined && stored === undefined) {
    throw new CommandError(`There is no profile ${name}. Make it with: troupe login --profile ${name}`);
  }
  const [url, apiKey, operatorToken] = ['TROUPE_BASE_URL', 'TROUPE_API_KEY', 'TROUPE_OPERATOR_TOKEN'].map(
    (setting) => environment[setting] || undefined,
  );
  const local = stored === undefined && apiKey === undefined ? await localProfile(environment) : undefined;
  const found = stored ?? local;
  const isNamed = name !== undefined;
  const own = (of: string | undefined, kept: string | undefined) => (isNamed ? (kept ?? of) : (of ?? kept));
  const whole = own(url, found?.url) ?? 'http://127.0.0.1:8080';
  const key = own(apiKey, found?.api_key);
  const operator = own(operatorToken, found?.operator_token);
  return {
    url: whole,
    ...(key !== undefined && { api_key: key }),
    ...(operator !== undefined && { operator_token: operator }),
  };
}

export async function localProfile(environment: Environment): Promise<Profile | undefined> {
  const folder = resolve(environment['TROUPE_DATA_DIR'] || './.troupe');
  const text = await readIfThere(join(folder, 'bootstrap.json'));
  const read = bootstrapShape.safeParse(parsed(text));
  return read.success ? { url: read.data.base_url, api_key: read.data.api_key } : undefined;
}

export async function readProfiles(environment: Environment): Promise<ProfileFile | undefined> {
  const path = profilesPath(environment);
  const text = await readIfThere(path);
  if (text === undefined) return undefined;
  const read = fileShape.safeParse(parsed(text));
  if (read.success) return read.data;
  throw new CommandError(`${path} is damaged. Remove it, and sign in again with: troupe login`);
}

/** Only its owner may read the file. A reader never sees a part of it. */
export async function writeProfiles(environment: Environment, file: ProfileFile): Promise<void> {
  const path = profilesPath(environment);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
  await chmod(draft, 0o600);
  await rename(draft, path);
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function parsed(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? 'null') as unknown;
  } catch {
    // Its shape is refused by the reader, who names the file.
    return undefined;
  }
}
