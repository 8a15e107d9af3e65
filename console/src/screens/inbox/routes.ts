import { createRoute } from '@tanstack/react-router';
import { Inbox as InboxIcon } from 'lucide-react';
import { frameRoute } from '../../routing/frame-route';
import type { NavigationEntry } from '../../routing/navigation';
import { inboxSearchOf } from './search';

const inbox = createRoute({
  getParentRoute: () => frameRoute,
  path: '/inbox',
  validateSearch: inboxSearchOf,
}).lazy(() => import('./inbox').then(({ Route }) => Route));

export const inboxRoutes = [inbox] as const;

export const inboxEntries: readonly NavigationEntry[] = [
  {
    title: 'Inbox',
    path: '/inbox',
    icon: InboxIcon,
    group: 'Conversations',
    permission: 'sessions:read',
    words: 'conversations sessions chats takeover handoff approvals',
  },
];
