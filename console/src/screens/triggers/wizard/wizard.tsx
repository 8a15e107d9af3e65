import { createLazyRoute, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useAllowed } from '../../../session/use-session';
import { buttonClass } from '../../../ui/button';
import { Page } from '../../../ui/page';
import { Forbidden } from '../../../ui/states';
import { Created, type Made } from './created';
import { kinds } from './kinds';
import { NewTrigger } from './new-trigger';

export const Route = createLazyRoute('/frame/triggers/new')({ component: Wizard });

/** What starts the agent, then its settings, then what to paste on the other side. */
function Wizard() {
  const { kind: id } = Route.useSearch();
  const [made, setMade] = useState<Made>();
  const kind = kinds.find((one) => one.id === id);
  if (!useAllowed('triggers:create')) return <Forbidden what="the creation of triggers" />;
  if (made !== undefined) return <Created made={made} />;
  if (kind === undefined) {
    return (
      <Page title="New trigger" description="What shall start the agent?">
        <ul className="grid gap-3 sm:grid-cols-2 lg:grid-cols-3">
          {kinds.map(({ id: one, title, text, icon: Icon }) => (
            <li key={one}>
              <Link
                to="/triggers/new"
                search={{ kind: one }}
                className="flex h-full items-start gap-3 rounded-lg border border-line bg-surface p-4 hover:border-accent hover:bg-hover"
              >
                <Icon size={20} aria-hidden className="mt-0.5 shrink-0 text-accent" />
                <span>
                  <span className="block font-medium">{title}</span>
                  <span className="text-sm text-muted">{text}</span>
                </span>
              </Link>
            </li>
          ))}
        </ul>
      </Page>
    );
  }
  return (
    <Page
      title={`New trigger: ${kind.title}`}
      description={kind.text}
      actions={
        <Link to="/triggers/new" className={buttonClass()}>
          Another type
        </Link>
      }
    >
      <NewTrigger key={kind.id} kind={kind} onMade={setMade} />
    </Page>
  );
}
