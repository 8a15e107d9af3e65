import { createRoute } from '@tanstack/react-router';
import { ScrollText } from 'lucide-react';
import { frameRoute } from '../../routing/frame-route';
import type { NavigationEntry } from '../../routing/navigation';

export interface AuditSearch {
  readonly actor?: string;
  readonly target?: string;
  readonly action?: string;
  readonly entry?: string;
}

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

const audit = createRoute({
  getParentRoute: () => frameRoute,
  path: '/audit',
  validateSearch: ({ actor, target, action, entry }): AuditSearch => ({
    actor: text(actor),
    target: text(target),
    action: text(action),
    entry: text(entry),
  }),
}).lazy(() => import('./audit').then(({ Route }) => Route));

/** The addresses of this screen, children of `frameRoute`. */
export const auditRoutes = [audit] as const;

export const auditEntries: readonly NavigationEntry[] = [
  {
    title: 'Audit',
    path: '/audit',
    icon: ScrollText,
    group: 'Access',
    permission: 'audit:read',
    words: 'log who changed history',
  },
];
