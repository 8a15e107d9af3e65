import { Hand, Pause, ShieldQuestion } from 'lucide-react';
import { type KeyboardEvent, memo } from 'react';
import { channelName } from '../../ui/channel';
import { cx } from '../../ui/cx';
import { Time } from '../../ui/time';
import { type Conversation, nameOf } from './conversations';

/** Lines have one height, so that a place in the list is known without drawing the lines before it. */
export const rowHeight = 76;

export const ConversationRow = memo(function ConversationRow({
  conversation,
  agent,
  selected,
  open,
  step,
}: {
  readonly conversation: Conversation;
  readonly agent: string | undefined;
  readonly selected: boolean;
  readonly open: (id: string) => void;
  /** Goes on to another line with the keyboard. */
  readonly step: (event: KeyboardEvent, from: string) => void;
}) {
  const { session_id: id, last_message: last, last_interaction, channel } = conversation;
  return (
    <button
      type="button"
      aria-current={selected ? 'true' : undefined}
      data-session={id}
      onKeyDown={(event) => step(event, id)}
      onClick={() => open(id)}
      className={cx(
        'flex h-full w-full flex-col justify-center gap-0.5 border-b border-l-2 border-line px-3 text-left focus-visible:-outline-offset-2',
        selected ? 'border-l-accent bg-accent-soft' : 'border-l-transparent hover:bg-hover',
      )}
    >
      <span className="flex items-center gap-2">
        <span className="min-w-0 flex-1 truncate text-sm font-semibold">{nameOf(conversation)}</span>
        <span className="shrink-0 text-xs text-muted">
          <Time at={last_interaction} />
        </span>
      </span>
      <span className="truncate text-sm text-muted">
        {last == null ? 'No message yet' : `${prefixes[last.role]}${plainText(last.content)}`}
      </span>
      <span className="flex items-center gap-2 text-xs text-muted">
        <span className="min-w-0 flex-1 truncate">
          {agent ?? 'Agent'} · {channelName(channel)}
        </span>
        <Mark conversation={conversation} />
      </span>
    </button>
  );
});

const prefixes = { user: '', assistant: '↳ ' } as const;

/** One line of a message, without the marks of Markdown. */
function plainText(content: string): string {
  return content
    .slice(0, 300)
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/(\*\*|__|`)(.+?)\1/g, '$2')
    .replaceAll(/^\s*(?:#{1,6}|>|[-*])\s+/gm, '')
    .replaceAll(/\s+/g, ' ');
}

/** Why somebody should look at it. */
function Mark({ conversation }: { readonly conversation: Conversation }) {
  const { state, control_mode: mode, control_metadata: control } = conversation;
  if (state === 'awaiting_approval')
    return <MarkOf icon={ShieldQuestion} text="Approval" tone="text-accent" />;
  if (mode === 'manual_handoff' && control.kind === 'suspend')
    return <MarkOf icon={Pause} text="Suspended" tone="text-warn" />;
  if (mode === 'manual_handoff') return <MarkOf icon={Hand} text="Taken over" tone="text-warn" />;
  if (state === 'ended') return <span>Ended</span>;
  return null;
}

function MarkOf({
  icon: Icon,
  text,
  tone,
}: {
  readonly icon: typeof Hand;
  readonly text: string;
  readonly tone: string;
}) {
  return (
    <span className={cx('flex shrink-0 items-center gap-1 font-medium', tone)}>
      <Icon size={12} aria-hidden />
      {text}
    </span>
  );
}
