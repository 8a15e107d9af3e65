import { ArrowLeft, PanelRight } from 'lucide-react';
import { useAgentNames } from '../../api/agent-names';
import { Badge, StatusBadge } from '../../ui/badge';
import { IconButton } from '../../ui/button';
import { channelName } from '../../ui/channel';
import { Time } from '../../ui/time';
import { ConversationActions } from './conversation-actions';
import { type Conversation, nameOf } from './conversations';

export function ConversationHeader({
  session,
  running,
  changed,
  close,
  profileOpen,
  toggleProfile,
}: {
  readonly session: Conversation;
  readonly running: boolean;
  readonly changed: () => void;
  readonly close: () => void;
  readonly profileOpen: boolean;
  readonly toggleProfile: () => void;
}) {
  const names = useAgentNames();
  const { control_mode: mode, control_metadata: control, state } = session;
  return (
    <div className="border-b border-line bg-surface px-3 py-2">
      <div className="flex flex-wrap items-center gap-2">
        <div className="md:hidden">
          <IconButton label="Back to the list" onClick={close} icon={<ArrowLeft size={16} aria-hidden />} />
        </div>
        <div className="min-w-40 flex-1">
          <h2 className="truncate">{nameOf(session)}</h2>
          <p className="flex min-w-0 items-center gap-2 text-xs text-muted">
            <span className="truncate">
              {names.get(session.agent_id) ?? 'Agent'} · {channelName(session.channel)}
            </span>
            {mode === 'manual_handoff' ? (
              <Badge tone="warn">{control.kind === 'suspend' ? 'suspended' : 'taken over'}</Badge>
            ) : (
              <StatusBadge status={state} />
            )}
          </p>
        </div>
        <ConversationActions session={session} running={running} changed={changed} />
        <div className="xl:hidden">
          <IconButton
            label={profileOpen ? 'Hide the person' : 'Show the person'}
            aria-expanded={profileOpen}
            onClick={toggleProfile}
            icon={<PanelRight size={16} aria-hidden />}
          />
        </div>
      </div>
      {mode === 'manual_handoff' && (
        <p className="mt-1 text-xs text-warn wrap-anywhere">
          {control.kind === 'suspend' ? 'Suspended' : 'Taken over'} <Time at={control.since} />
          {control.by !== null && ` by ${byName(control.by)}`}
          {control.reason !== null && `: ${control.reason}`}
          {control.expires_at !== null && (
            <>
              {' '}
              · until <Time at={control.expires_at} exactly />
            </>
          )}
        </p>
      )}
    </div>
  );
}

/** `user:<id>` and `key:<id>`, as far as they say something to a person. */
function byName(by: string): string {
  if (by.startsWith('user:')) return 'a member';
  if (by.startsWith('key:')) return 'an API key';
  return by;
}
