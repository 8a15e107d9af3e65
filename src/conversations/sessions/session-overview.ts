import type { SessionOverview } from './requests.js';
import type { SessionRow } from './rows.js';

export function overviewOf(session: SessionRow): SessionOverview {
  return {
    id: session.id,
    agentId: session.agent_id,
    control: {
      mode: session.control_mode,
      kind: session.control_kind,
      reason: session.control_reason,
      by: session.control_by,
      since: dateOf(session.control_since),
      expiresAt: dateOf(session.control_expires_at),
    },
    createdAt: new Date(session.created_at),
  };
}

function dateOf(text: string | null): Date | null {
  return text === null ? null : new Date(text);
}
