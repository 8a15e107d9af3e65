// The database and the Redis that a node is told of, tried before anything is begun.
import { type DatabaseFacts, examineDatabase, examineRedis } from '../../infra/storage/index.js';
import { CommandError, reasonsOf } from './command.js';

const lookAtAll = '`troupe doctor` looks at every part.';
/** 15 brought what the tables are made with. */
export const databaseVersionMin = 150_000;

type Place = { readonly variable: string; readonly url: string };

/** Each failure by its code, in words and with the way out; `$` stands for the host and port. */
const remedies: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens on $. Start it there',
  ENOTFOUND: 'the host of $ is unknown. Correct the name',
  EAI_AGAIN: 'the host of $ cannot be looked up just now. Look at the name server',
  ETIMEDOUT: '$ does not answer. Look at the network and the firewall',
  EHOSTUNREACH: '$ cannot be reached. Look at the network',
  ENETUNREACH: '$ cannot be reached. Look at the network',
  ECONNRESET: '$ ends the connection, so it may be another kind of server. Look at what runs there',
  '28P01': '$ refuses the user or the password. Correct them',
  '28000': '$ does not let this user in. Look at pg_hba.conf',
  '3D000': '$ has no database of this name. Create it',
  '53300': '$ has no connection left. Raise max_connections',
  '57P03': '$ is starting or stopping. Try again in a moment',
};

const wordings: readonly (readonly [RegExp, string])[] = [
  [/WRONGPASS|NOAUTH|invalid password|invalid username-password/i, '$ refuses the password. Correct it'],
  [/DB index is out of range/i, '$ has no database of this number. Correct it'],
  [/does not support SSL/i, '$ does not speak TLS. Leave `sslmode` out, or switch TLS on there'],
  [
    /self[- ]signed|certificate/i,
    '$ shows a certificate that this machine does not trust. Look at `sslmode`',
  ],
  [
    /time(?:d ?out|out)|terminated unexpectedly|unexpected (?:message|response)|protocol error|connection is closed/i,
    '$ does not answer as it should. Look at what runs there and at the network',
  ],
];

/** One line about a service that cannot be used. Never the address itself, which holds a password. */
export function serviceProblem({ variable, url }: Place, error: unknown): CommandError {
  const reasons = reasonsOf(error);
  const remedy = remedyOf(error) ?? wordings.find(([words]) => reasons.some((one) => words.test(one)))?.[1];
  const says = remedy?.replace('$', placeOf(url));
  const advice = says === undefined ? '' : `${says}, or correct ${variable}. `;
  return new CommandError(
    `what ${variable} names cannot be used: ${advice}(${oneLine(reasons)}) ${lookAtAll}`,
    { cause: error },
  );
}

function remedyOf(error: unknown): string | undefined {
  for (let one: unknown = error; one instanceof Error; one = one.cause) {
    for (const name of ['code', 'sqlState']) {
      const code: unknown = Reflect.get(one, name);
      if (typeof code === 'string' && remedies[code] !== undefined) return remedies[code];
    }
  }
  const code = /\b(?:ECONN|E[A-Z]{4,})\w*\b/.exec(reasonsOf(error).join(' '))?.[0];
  return code === undefined ? undefined : remedies[code];
}

function placeOf(url: string): string {
  const { host, hostname, searchParams } = new URL(url);
  // A socket's folder stands where a host would.
  return host !== '' ? host : (searchParams.get('host') ?? hostname);
}

function oneLine(reasons: readonly string[]): string {
  return reasons.join('; ').replaceAll(/\s+/g, ' ');
}

export async function requireDatabase(databaseUrl: string): Promise<void> {
  const place = { variable: 'DATABASE_URL', url: databaseUrl };
  let facts: DatabaseFacts;
  try {
    facts = await examineDatabase(databaseUrl);
  } catch (error) {
    throw serviceProblem(place, error);
  }
  if (facts.versionNumber >= databaseVersionMin) return;
  throw new CommandError(
    `what DATABASE_URL names cannot be used: ${placeOf(databaseUrl)} is PostgreSQL ${facts.version}, and 15 or later is ` +
      `needed. Upgrade it, or correct DATABASE_URL. ${lookAtAll}`,
  );
}

export async function requireRedis(redisUrl: string): Promise<void> {
  try {
    await examineRedis(redisUrl);
  } catch (error) {
    throw serviceProblem({ variable: 'REDIS_URL', url: redisUrl }, error);
  }
}
