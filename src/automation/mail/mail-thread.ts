import { derivedSessionId } from '../../conversations/invocation/index.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { HotReads } from '../../infra/storage/index.js';
import type { LiveTrigger } from '../triggers/live-triggers.js';
import { threadsOf } from '../messages/mail-threads.store.js';
import type { ParsedMail } from '../mail-reading/parsed-mail.js';

/**
 * The id of the first mail of the thread: recorded with a mail that this one answers, else the oldest that it
 * references. So the mails of a thread share it even if they arrive out of order.
 */
export async function threadOf(
  reads: Pick<HotReads, 'inTenant'>,
  scope: TenantScope,
  triggerId: string,
  { id, inReplyTo, references }: Pick<ParsedMail, 'id' | 'inReplyTo' | 'references'>,
): Promise<string> {
  const nearestFirst = [...inReplyTo, ...references.toReversed()];
  if (nearestFirst.length === 0) return id;
  const known = await threadsOf(reads, scope, triggerId, nearestFirst);
  const nearest = nearestFirst.find((named) => known.has(named));
  return (nearest === undefined ? undefined : known.get(nearest)) ?? references[0] ?? inReplyTo[0] ?? id;
}

/**
 * A session is one thread of one person: a sender who joins a thread, or guesses its id, cannot read along in another
 * person's session.
 */
export function sessionOfThread(
  { id, agentId }: Pick<LiveTrigger, 'id' | 'agentId'>,
  thread: string,
  sender: string,
): string {
  const fields = [
    { name: 'trigger', value: id },
    { name: 'thread', value: thread },
    { name: 'sender', value: sender },
  ];
  const sessionId = derivedSessionId(agentId, fields);
  if (sessionId === undefined) throw new RangeError('A trigger has an id');
  return sessionId;
}
