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

/** An installation that is kept on this machine, and what keeps it. */
interface Kept extends Profile {
  readonly by: string;
}

type Credential = 'api_key' | 'operator_token';

/** The installation of a command, with the credentials that belong to it. */
export interface FoundProfile extends Profile {
  /** Why a credential that is there is not sent to this address, and what to do. */
  readonly withheld: Readonly<Partial<Record<Credential, string>>>;
}

const names: Readonly<Record<Credential, { readonly variable: string; readonly word: string }>> = {
  api_key: { variable: 'TROUPE_API_KEY', word: 'API key' },
  operator_token: { variable: 'TROUPE_OPERATOR_TOKEN', word: 'operator token' },
};

/**
 * The installation and credential of a command: those of the environment, else the named or default profile of
 * `troupe login`, else the installation that `npm start` keeps in this folder. A credential goes to its own origin alone:
 * that of what keeps it, and for a variable TROUPE_BASE_URL. Without TROUPE_BASE_URL a variable goes to the address that
 * is found, unless a profile was named.
 */
export async function findProfile(
  environment: Environment,
  named: string | undefined,
): Promise<FoundProfile> {
  const name = named ?? (environment['TROUPE_PROFILE'] || undefined);
  const kept = await keptInstallation(environment, name);
  const given = environment['TROUPE_BASE_URL'] || undefined;
  const url = (name === undefined ? (given ?? kept?.url) : kept?.url) ?? 'http://127.0.0.1:8080';
  const found: { url: string; api_key?: string; operator_token?: string } = { url };
  const withheld: Partial<Record<Credential, string>> = {};
  for (const credential of ['api_key', 'operator_token'] as const) {
    const { variable } = names[credential];
    const ofKept = { text: kept?.[credential], home: kept?.url };
    const ofVariable = {
      text: environment[variable] || undefined,
      home: given ?? (name === undefined ? url : undefined),
    };
    const known = (name === undefined ? [ofVariable, ofKept] : [ofKept, ofVariable]).filter(
      ({ text }) => text !== undefined,
    );
    const own = known.find(({ home }) => home !== undefined && isSameOrigin(home, url))?.text;
    if (own !== undefined) found[credential] = own;
    else if (known.length > 0) withheld[credential] = reasonFor(credential, { url, name, kept });
  }
  return { ...found, withheld };
}

async function keptInstallation(
  environment: Environment,
  name: string | undefined,
): Promise<Kept | undefined> {
  const file = await readProfiles(environment);
  const wanted = name ?? file?.default ?? '';
  const stored = file?.profiles[wanted];
  if (stored !== undefined) return { ...stored, by: `the profile ${wanted}` };
  if (name !== undefined) {
    throw new CommandError(`There is no profile ${name}. Make it with: troupe login --profile ${name}`);
  }
  if ((environment['TROUPE_API_KEY'] || undefined) !== undefined) return undefined;
  const local = await localProfile(environment);
  return local === undefined ? undefined : { ...local, by: bootstrapPath(environment) };
}

function reasonFor(
  credential: Credential,
  {
    url,
    name,
    kept,
  }: { readonly url: string; readonly name: string | undefined; readonly kept: Kept | undefined },
): string {
  const { variable, word } = names[credential];
  if (name !== undefined) {
    const login = credential === 'operator_token' ? 'troupe login --operator' : 'troupe login';
    return (
      `The profile ${name} has no ${word}, and ${variable} is not sent to its address ${url}, because TROUPE_BASE_URL ` +
      `does not name that address. Keep one with: ${login} --url ${url} --profile ${name}, or set TROUPE_BASE_URL too.`
    );
  }
  return (
    `The ${word} of ${kept?.by ?? ''} belongs to ${kept?.url ?? ''} and is not sent to ${url}, which TROUPE_BASE_URL ` +
    `names. Set ${variable} to one of that address, or remove TROUPE_BASE_URL.`
  );
}

/** Whether what is sent to the one address reaches the same server at the other. */
export function isSameOrigin(one: string, other: string): boolean {
  return originOf(one) === originOf(other);
}

function originOf(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  // Other schemes have no origin that tells two addresses apart.
  return url !== undefined && /^https?:$/.test(url.protocol) ? url.origin : address;
}

function bootstrapPath(environment: Environment): string {
  return join(resolve(environment['TROUPE_DATA_DIR'] || './.troupe'), 'bootstrap.json');
}

export async function localProfile(environment: Environment): Promise<Profile | undefined> {
  const text = await readIfThere(bootstrapPath(environment));
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
