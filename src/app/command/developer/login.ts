import type { Environment } from '../../../kernel/config/index.js';
import { CommandError } from '../command.js';
import { clientOf, type Context, developerCommand } from './developer-command.js';
import {
  isSameOrigin,
  localProfile,
  type Profile,
  profilesPath,
  readProfiles,
  writeProfiles,
} from './profiles.js';
import { answerTo } from './terminal.js';

export const loginCommand = developerCommand({
  usage: ['login [--url URL] [--key KEY|-] [--name NAME]'],
  summary:
    'Keeps the address and the API key of an installation for later commands. Without a key it asks for one, or takes\n' +
    'the one that npm start left in this folder. With --key - it reads the key from standard input.',
  options: {
    url: { kind: 'text', about: 'the address; http://127.0.0.1:8080 by default' },
    key: { kind: 'text', about: 'an API key; - reads it from standard input, where no history keeps it' },
    operator: { kind: 'flag', about: 'keep TROUPE_OPERATOR_TOKEN too, for troupe top' },
    name: { kind: 'text', about: 'the name of the profile; default by default' },
  },
  run: async (context) => {
    const { given, environment, out } = context;
    const profile = await wanted(context);
    const name = given.text('name') ?? given.text('profile') ?? 'default';
    const troupe = clientOf(profile);
    // Every role may read sessions, so this proves any key.
    await troupe.sessions.list({ query: { limit: 1 } });
    const file = await readProfiles(environment);
    await writeProfiles(environment, {
      default: name,
      profiles: { ...file?.profiles, [name]: profile },
    });
    const path = profilesPath(environment);
    if (given.flag('json')) out.json({ profile: name, url: profile.url, path });
    else out.print(`Signed in at ${profile.url}. The key is in ${path}, profile ${name}.`);
  },
});

export const logoutCommand = developerCommand({
  usage: ['logout [--profile NAME]'],
  summary: 'Forgets the API key of a profile. The key itself stays valid: revoke it where it was made.',
  options: {},
  run: async ({ given, environment, out }) => {
    const file = await readProfiles(environment);
    const name = given.text('profile') ?? file?.default ?? '';
    if (file?.profiles[name] === undefined) throw new CommandError('Nobody is signed in.');
    const { [name]: _, ...profiles } = file.profiles;
    await writeProfiles(environment, {
      default: file.default === name ? (Object.keys(profiles)[0] ?? '') : file.default,
      profiles,
    });
    if (given.flag('json')) out.json({ forgotten: name });
    else out.print(`The key of profile ${name} is forgotten.`);
  },
});

async function wanted({ given, environment, out }: Context): Promise<Profile> {
  const local = await localProfile(environment);
  const key = given.text('key');
  const url = given.text('url') ?? (environment['TROUPE_BASE_URL'] || undefined);
  const operatorToken = given.flag('operator')
    ? variableFor(url, 'TROUPE_OPERATOR_TOKEN', environment)
    : undefined;
  if (given.flag('operator') && operatorToken === undefined) {
    throw new CommandError('TROUPE_OPERATOR_TOKEN is not set. Set it to the token of the operator.');
  }
  const isLocal =
    key === undefined && (url === undefined || (local !== undefined && isSameOrigin(url, local.url)));
  const text = key === '-' ? await allOfInput() : (key ?? variableFor(url, 'TROUPE_API_KEY', environment));
  const apiKey = text ?? (isLocal ? local?.api_key : undefined) ?? (await askedKey(out.isTerminal));
  return {
    url: (url ?? (isLocal ? local?.url : undefined) ?? 'http://127.0.0.1:8080').replace(/\/+$/, ''),
    api_key: apiKey.trim(),
    ...(operatorToken !== undefined && { operator_token: operatorToken }),
  };
}

/** The credential of a variable. Beside TROUPE_BASE_URL it belongs to that address, and is sent to no other one. */
function variableFor(
  url: string | undefined,
  variable: 'TROUPE_API_KEY' | 'TROUPE_OPERATOR_TOKEN',
  environment: Environment,
): string | undefined {
  const [text, home] = [environment[variable] || undefined, environment['TROUPE_BASE_URL'] || undefined];
  if (text === undefined || url === undefined || home === undefined || isSameOrigin(url, home)) return text;
  throw new CommandError(
    `${variable} belongs to ${home}, which TROUPE_BASE_URL names, and is not sent to ${url}. ` +
      `${variable === 'TROUPE_API_KEY' ? 'Give the key with --key -' : 'Set the token of that address'}, or remove TROUPE_BASE_URL.`,
    { exitCode: 2 },
  );
}

export async function allOfInput(): Promise<string> {
  let text = '';
  for await (const bytes of process.stdin.setEncoding('utf8')) text += String(bytes);
  return text;
}

/** Asks without showing what is typed. */
async function askedKey(isTerminal: boolean): Promise<string> {
  if (isTerminal && process.stdin.isTTY) {
    process.stderr.write('API key: ');
    // Without an output, nothing shows what is typed.
    const answer = await answerTo('', { terminal: true });
    process.stderr.write('\n');
    if (answer !== undefined) return answer;
  }
  throw new CommandError('An API key is missing. Give it with --key -, or set TROUPE_API_KEY.', {
    exitCode: 2,
  });
}
