// Checks the database and the Redis of the settings before anything starts.
import { systemTime } from '../../../cluster/index.js';
import { type DatabaseFacts, examineDatabase, examineRedis } from '../../infra/storage/index.js';
import { CommandError, reasonsOf } from './command.js';

const runDoctor = 'Run `troupe doctor` to check everything.';
/** The schema needs features of PostgreSQL 15. */
export const databaseVersionMin = 150_000;

type Place = { readonly variable: string; readonly url: string };

/** The cause and the fix for each error code; `$` stands for host and port. */
const remedies: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens on $. Start the server',
  ENOTFOUND: 'the host of $ is unknown. Correct the name',
  EAI_AGAIN: 'the name server does not resolve the host of $ now. Check the name server',
  ETIMEDOUT: '$ does not respond. Check the network and the firewall',
  EHOSTUNREACH: '$ cannot be reached. Check the network',
  ENETUNREACH: '$ cannot be reached. Check the network',
  ECONNRESET: '$ closes the connection; it may be a different kind of server. Check which server runs there',
  '28P01': '$ refuses the user or the password. Correct them',
  '28000': '$ does not accept this user. Check pg_hba.conf',
  '3D000': '$ has no database of this name. Create it',
  '53300': '$ has no free connection. Raise max_connections',
  '57P03': '$ is starting or stopping. Try again in a moment',
};

const wordings: readonly (readonly [RegExp, string])[] = [
  [/WRONGPASS|NOAUTH|invalid password|invalid username-password/i, '$ refuses the password. Correct it'],
  [/DB index is out of range/i, '$ has no database of this number. Correct it'],
  [/does not support SSL/i, '$ does not support TLS. Remove `sslmode`, or enable TLS on the server'],
  [
    /self[- ]signed|certificate/i,
    '$ presents a certificate that this machine does not trust. Check `sslmode`',
  ],
  [
    /time(?:d ?out|out)|terminated unexpectedly|unexpected (?:message|response)|protocol error|connection is closed/i,
    '$ does not respond as expected. Check which server runs there, and the network',
  ],
];

/** A one-line error about a service that cannot be used. It never contains the URL, which holds a password. */
export function serviceProblem({ variable, url }: Place, error: unknown): CommandError {
  const reasons = reasonsOf(error);
  const remedy =
    remedyOf(error) ?? wordings.find(([pattern]) => reasons.some((one) => pattern.test(one)))?.[1];
  const says = remedy?.replace('$', placeOf(url));
  const advice = says === undefined ? '' : `${says}, or correct ${variable}. `;
  return new CommandError(
    `the server in ${variable} cannot be used: ${advice}(${oneLine(reasons)}) ${runDoctor}`,
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
  // A URL of a socket has its folder in the parameter `host`.
  return host !== '' ? host : (searchParams.get('host') ?? hostname);
}

function oneLine(reasons: readonly string[]): string {
  return reasons.join('; ').replaceAll(/\s+/g, ' ');
}

export async function requireDatabase(databaseUrl: string): Promise<void> {
  const place = { variable: 'DATABASE_URL', url: databaseUrl };
  let facts: DatabaseFacts;
  try {
    facts = await examineDatabase(databaseUrl, systemTime);
  } catch (error) {
    throw serviceProblem(place, error);
  }
  if (facts.versionNumber >= databaseVersionMin) return;
  throw new CommandError(
    `the server in DATABASE_URL cannot be used: ${placeOf(databaseUrl)} is PostgreSQL ${facts.version}, and 15 or later is ` +
      `needed. Upgrade it, or correct DATABASE_URL. ${runDoctor}`,
  );
}

export async function requireRedis(redisUrl: string): Promise<void> {
  try {
    await examineRedis(redisUrl, systemTime);
  } catch (error) {
    throw serviceProblem({ variable: 'REDIS_URL', url: redisUrl }, error);
  }
}
