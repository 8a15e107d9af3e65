/**
 * Erases a session, or one person from a session in which others go on: their messages, the turns that these caused and the
 * answers. The summary tells of everybody, so it goes, and is made anew from the messages that are left.
 */
import { consumersOf } from '../invocation/index.js';
import type { LiveTurn } from './live-turn.js';
import type { SessionActivation, SessionActorParts } from './parts.js';
import type { MessageRow, SessionRow } from './rows.js';
import type { SessionState } from './session-state.js';
import { ended, lastEvents } from './turn-end.js';
import type { TurnWorker } from './turn-worker.js';

/**
 * Turns end with their session, and their readers are told, so that readers do not look for them on another node. False
 * if there is no session.
 */
export async function eraseSession(
  state: SessionState,
  activation: SessionActivation,
  worker: Pick<TurnWorker, 'forget'>,
): Promise<boolean> {
  const { session, queue } = state;
  if (session === undefined) return false;
  worker.forget(queue);
  state.session = undefined;
  const erasing = activation.write(
    { erase: { tenant_id: session.tenant_id, id: session.id } },
    { stamp: { set: 'free' } },
  );
  // A request that starts the session anew waits: its rows would be erased with the rest.
  state.erasing = erasing.then(
    () => undefined,
    () => undefined,
  );
  await erasing;
  state.erasing = undefined;
  endReaders(queue);
  state.forgetAll();
  return true;
}

function endReaders(turns: readonly LiveTurn[]): void {
  for (const turn of turns) {
    turn.log.publish(turn.log.prepare(lastEvents(turn.row, ended('CANCELLED'), true)));
    turn.log.close();
  }
}

/** `alone`: nobody else writes in the session, so that it is to be erased as a whole. */
export async function erasePerson(
  state: SessionState,
  activation: SessionActivation,
  parts: SessionActorParts,
  worker: Pick<TurnWorker, 'forget'>,
  key: string,
): Promise<'alone' | 'erased'> {
  if (state.session === undefined) return 'erased';
  const other = await otherOf(state, activation, parts, key);
  const { session, running } = state;
  if (session === undefined) return 'erased';
  if (other === undefined) return session.has_several || session.consumer_key === key ? 'alone' : 'erased';
  const turns = state.turns().filter(({ row }) => consumersOf(row.input.author).includes(key));
  const unfinished = turns.filter(({ finished }) => !finished);
  worker.forget(unfinished);
  state.erasures += 1;
  state.session = without(session, key, other);
  state.replaceTail(leftOf(state.tail, turns, key));
  await activation.write(
    {
      session: state.session,
      erasedPeople: [{ tenant_id: session.tenant_id, session_id: session.id, consumer_key: key }],
    },
    running !== undefined && unfinished.includes(running) ? { stamp: { set: 'free' } } : {},
  );
  endReaders(unfinished);
  state.forgetTurns(turns);
  return 'erased';
}

/** Turns that wait are known here before their people are stored. */
async function otherOf(
  state: SessionState,
  { address }: SessionActivation,
  { tenantAtWork, otherParticipant }: SessionActorParts,
  key: string,
): Promise<string | undefined> {
  const { session, queue } = state;
  if (session === undefined || !session.has_several) return undefined;
  const waiting = queue.flatMap(({ row }) => consumersOf(row.input.author)).find((one) => one !== key);
  if (waiting !== undefined) return waiting;
  const tenant = await tenantAtWork(address.group);
  return tenant && otherParticipant(tenant.scope, session.id, key);
}

function without(session: SessionRow, key: string, other: string): SessionRow {
  const { started_by: starter } = session;
  const isTheirs = session.consumer_key === key;
  return {
    ...session,
    consumer_key: isTheirs ? other : session.consumer_key,
    consumer_display_name: isTheirs ? null : session.consumer_display_name,
    started_by: consumersOf(starter).includes(key) ? { kind: 'consumer', id: other } : starter,
    summary: null,
    summary_to: 0,
  };
}

/** Of the newest messages, so that an answer whose question is not among them is left out too. */
function leftOf(tail: readonly MessageRow[], turns: readonly LiveTurn[], key: string): readonly MessageRow[] {
  const mine = tail.filter(({ author }) => consumersOf(author).includes(key));
  const caused = new Set([...turns.map(({ row }) => row.id), ...mine.map(({ execution_id: id }) => id)]);
  const asked = new Set(tail.filter(({ role }) => role === 'user').map(({ execution_id: id }) => id));
  return tail.filter(
    ({ author, execution_id: id }) =>
      !consumersOf(author).includes(key) && (id === null || (!caused.has(id) && asked.has(id))),
  );
}
