import { PlatformError } from '../../kernel/errors.js';
import type { VisitorCaller } from '../../kernel/caller.js';
import type { Sessions } from '../sessions/index.js';

/** A visitor is a consumer of the tenant, whom the platform names: conversations, memory and the denylist work alike. */
export function consumerKeyOf({ visitorId }: VisitorCaller): string {
  if (visitorId !== undefined) return `visitor_${visitorId}`;
  throw new PlatformError('authentication_required', {
    message: 'X-Visitor-Secret is missing. POST /api/v1/chat/{publicKey}/visitors gives one.',
  });
}

/** Refuses agents of the tenant that the public key does not name, as if they did not exist. */
export function requireAgent({ agentIds }: VisitorCaller, agentId: string): void {
  if (!agentIds.has(agentId.toLowerCase())) throw new PlatformError('agent_not_found');
}

type ReadSession = Awaited<ReturnType<Sessions['session']>>;
type ReadExecution = Awaited<ReturnType<Sessions['execution']>>;

/** The visitor's own session. Other visitors' are refused as unknown ones are. */
export async function ownSession(
  sessions: Sessions,
  caller: VisitorCaller,
  sessionId: string,
): Promise<ReadSession> {
  const consumerKey = consumerKeyOf(caller);
  const session = await sessions.session(caller.scope, sessionId);
  if (session.consumer_key !== consumerKey || !caller.agentIds.has(session.agent_id)) {
    throw new PlatformError('not_found', { message: 'The session was not found.' });
  }
  return session;
}

/** A turn of the visitor's own session. */
export async function ownExecution(
  sessions: Sessions,
  caller: VisitorCaller,
  executionId: string,
): Promise<ReadExecution & { readonly session_id: string }> {
  const unknown = new PlatformError('not_found', { message: 'The execution was not found.' });
  const execution = await sessions.execution(caller.scope, executionId);
  const { session_id: sessionId } = execution;
  if (sessionId === null) throw unknown;
  await ownSession(sessions, caller, sessionId).catch((error: unknown) => {
    throw error instanceof PlatformError && error.code === 'not_found' ? unknown : error;
  });
  return { ...execution, session_id: sessionId };
}
