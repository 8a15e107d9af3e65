import type { AppendResponse } from '../../../generated/troupe/actors/v1/session.js';
import { PlatformError } from '../../kernel/errors.js';
import type { RealtimeEventRow } from '../realtime/index.js';
import type { SessionActivation, SessionActorParts } from './parts.js';
import type { AppendedMessage } from './requests.js';
import type { MessageRow } from './rows.js';
import type { SessionState } from './session-state.js';

/** Appends a message that a person wrote in the agent's place. A repeat finds the first one. */
export async function append(
  state: SessionState,
  activation: SessionActivation,
  { time, newId }: SessionActorParts,
  request: AppendedMessage,
): Promise<AppendResponse> {
  const { session } = state;
  if (session === undefined) throw new PlatformError('not_found', { message: 'The session was not found.' });
  const repeated = state.tail.find(({ id }) => id === request.id);
  if (repeated !== undefined) return { createdAt: new Date(repeated.created_at) };
  if (request.mustBeHandedOff && session.control_mode === 'engaged') {
    throw new PlatformError('INVALID_SESSION_STATE', {
      message: 'The agent still controls this session. Take it over first.',
    });
  }
  const message: MessageRow = {
    tenant_id: session.tenant_id,
    session_id: session.id,
    number: session.last_message + 1,
    id: request.id,
    role: 'assistant',
    author: request.author,
    content: request.content,
    attachments: [],
    declared_context: null,
    metadata: request.metadata,
    execution_id: null,
    created_at: new Date(time.wallMs()).toISOString(),
  };
  state.session = { ...session, last_message: message.number, last_interaction: message.created_at };
  state.remember([message]);
  await activation.write({
    session: state.session,
    messages: [message],
    realtimeEvents: [sentEvent(message, newId(), request.writtenBy)],
  });
  return { createdAt: new Date(message.created_at) };
}

function sentEvent({ id, tenant_id, session_id }: MessageRow, eventId: string, by: string): RealtimeEventRow {
  const data = { session_id, message_id: id, by };
  return { tenant_id, id: eventId, type: 'manual_message_sent', data };
}
