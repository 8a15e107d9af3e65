import { Link } from '@tanstack/react-router';
import { Paperclip } from 'lucide-react';
import { useAgentNames } from '../../api/agent-names';
import { cx } from '../../ui/cx';
import { useAllowed } from '../../session/use-session';
import { Markdown } from '../../ui/markdown';
import { Time } from '../../ui/time';
import { type Conversation, nameOf } from './conversations';
import type { Message } from './message';

/** One message: the person's at the left, the answers at the right. */
export function MessageView({
  message,
  session,
}: {
  readonly message: Message;
  readonly session: Conversation;
}) {
  const names = useAgentNames();
  const mayReadTurns = useAllowed('executions:read');
  const { role, author, content, attachments, execution_id: execution, created_at } = message;
  const manual = message.metadata['manual'] === true;
  const who =
    role === 'user'
      ? nameOfAuthor(author, session)
      : manual
        ? 'A person of your team'
        : (names.get(session.agent_id) ?? 'Agent');
  return (
    <article
      aria-label={`Message of ${who}`}
      className={cx('flex flex-col gap-1', role === 'assistant' ? 'items-end' : 'items-start')}
    >
      <div className="flex items-center gap-2 text-xs text-muted">
        <span className="font-medium text-text">{who}</span>
        <Time at={created_at} />
        {role === 'assistant' && execution !== null && mayReadTurns && (
          <Link
            to="/turns/$executionId"
            params={{ executionId: execution }}
            className="underline hover:text-text"
          >
            Turn
          </Link>
        )}
      </div>
      <div
        className={cx(
          'max-w-[min(42rem,92%)] rounded-lg border px-3 py-2 text-sm',
          role === 'user' && 'border-line bg-surface',
          role === 'assistant' && !manual && 'border-transparent bg-accent-soft',
          manual && 'border-transparent bg-warn-soft',
        )}
      >
        {content !== '' && <Markdown text={content} />}
        {attachments.map(({ id, name, media_type }) => (
          <p key={id} className="flex items-center gap-1 text-muted">
            <Paperclip size={13} aria-hidden />
            {name ?? media_type}
          </p>
        ))}
      </div>
    </article>
  );
}

function nameOfAuthor(author: Message['author'], session: Conversation): string {
  if (author?.kind === 'trigger') return 'Trigger';
  if (author?.kind === 'key' && session.consumer_key === null) return 'API key';
  if (author?.kind === 'user' && session.consumer_key === null) return 'Member';
  return nameOf(session);
}
