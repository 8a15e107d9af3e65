import { Link } from '@tanstack/react-router';
import { X } from 'lucide-react';
import type { ReactNode } from 'react';
import { useAllowed } from '../../session/use-session';
import { CopyAs } from '../../ui/copy-as';
import { CopyButton } from '../../ui/copy-button';
import { IconButton } from '../../ui/button';
import { cx } from '../../ui/cx';
import { Facts } from '../../ui/page';
import { Time } from '../../ui/time';
import { PersonCard } from '../consumers/person-card';
import { type Conversation, nameOf } from './conversations';

/** Whom the conversation is with, and the conversation's own facts. */
export function Profile({
  session,
  open,
  close,
}: {
  readonly session: Conversation;
  readonly open: boolean;
  readonly close: () => void;
}) {
  const { session_id: id, consumer_key: key } = session;
  const mayReadTurns = useAllowed('executions:read');
  return (
    <aside
      aria-label="The person and the conversation"
      className={cx(
        'w-76 shrink-0 overflow-y-auto border-l border-line bg-surface xl:block',
        open ? 'max-xl:fixed max-xl:inset-y-0 max-xl:right-0 max-xl:z-30 max-xl:shadow-2xl' : 'max-xl:hidden',
      )}
    >
      <div className="flex items-center justify-between border-b border-line px-4 py-3">
        <h2 className="truncate">{nameOf(session)}</h2>
        <div className="xl:hidden">
          <IconButton label="Close" onClick={close} icon={<X size={16} aria-hidden />} />
        </div>
      </div>
      {key === null ? (
        <p className="border-b border-line p-4 text-sm text-muted">
          The integration names no person in this conversation.
        </p>
      ) : (
        <PersonCard consumerKey={key} />
      )}
      <Part title="Details">
        <Facts
          facts={[
            ['Turns', session.total_turns],
            ['Began', <Time key="at" at={session.created_at} />],
            ['Last', <Time key="at" at={session.last_interaction} />],
            [
              'Id',
              <span key="id" className="flex items-center gap-1">
                <code className="truncate text-xs">{id}</code>
                <CopyButton text={id} label="Copy the id" />
              </span>,
            ],
          ]}
        />
        <div className="mt-3 flex flex-wrap gap-2">
          <CopyAs
            request={{
              method: 'GET',
              path: `/api/v1/sessions/${id}/messages`,
              mcp: { tool: 'get_session', arguments: { session_id: id } },
            }}
          />
          {mayReadTurns && (
            <Link
              to="/turns"
              search={{ session: id }}
              className="inline-flex h-8 items-center rounded-md border border-line px-3 text-sm font-medium hover:bg-hover"
            >
              All turns
            </Link>
          )}
        </div>
      </Part>
    </aside>
  );
}

function Part({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section className="border-b border-line p-4" aria-label={title}>
      <h3 className="mb-2 text-xs font-medium text-muted">{title}</h3>
      {children}
    </section>
  );
}
