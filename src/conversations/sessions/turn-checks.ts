/** What is checked before a turn runs. */
import { consumersOf } from '../invocation/index.js';
import type { TurnStart } from '../turns/index.js';
import type { LiveTurn } from './live-turn.js';
import type { SessionActorParts, Tenant } from './parts.js';
import type { SessionRow } from './rows.js';
import { ended, type Ended, failed } from './turn-end.js';

/** A turn is given up after this many processes have ended during it without leaving in order. */
const attemptsMax = 3;

/** The reason not to run the turn, as far as it is known before the agent is loaded. */
export async function refusalOf(
  { row, muted }: LiveTurn,
  { scope }: Tenant,
  session: SessionRow,
  { isDenied }: Pick<SessionActorParts, 'isDenied'>,
): Promise<Ended | undefined> {
  if (row.cancelled_by !== null) return ended('CANCELLED');
  const lost = row.attempts - (row.input.handovers ?? 0);
  if (lost >= attemptsMax) {
    return failed('worker_lost', `The turn was started ${lost} times, and its process ended each time.`);
  }
  if (muted || session.control_mode !== 'engaged') return ended('SUSPENDED');
  for (const consumer of consumersOfTurn(row, session)) {
    if (await isDenied(scope, consumer)) return ended('BLOCKED');
  }
  return undefined;
}

/** Whoever wrote the message; in a session of one person, that person even if another wrote it for them. */
export function consumersOfTurn(
  { input: { author } }: LiveTurn['row'],
  { consumer_key: key, has_several: hasSeveral }: SessionRow,
): readonly string[] {
  return hasSeveral || key === null ? consumersOf(author) : [key];
}

/** A resumed turn keeps the version of the agent with which it began. */
export async function agentOf(
  { row }: LiveTurn,
  { scope }: Tenant,
  { agents }: Pick<SessionActorParts, 'agents'>,
): Promise<TurnStart['agent'] | undefined> {
  const current = await agents.runnableAgent(scope, row.agent_id, row.input.role);
  if (row.agent_version === null || current?.version === row.agent_version) return current;
  const snapshot = await agents.agentVersion(scope, row.agent_id, row.agent_version);
  if (snapshot === undefined) return undefined;
  const access = { rateLimit: null, allowedUsers: new Set<string>() };
  return { ...access, id: row.agent_id, version: row.agent_version, snapshot, approved: null };
}
