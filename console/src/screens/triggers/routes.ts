import { createRoute } from '@tanstack/react-router';
import { Zap } from 'lucide-react';
import { frameRoute } from '../../routing/frame-route';
import type { NavigationEntry } from '../../routing/navigation';

export const triggerTypes = ['webhook', 'email', 'db_event', 'schedule'] as const;
export type TriggerType = (typeof triggerTypes)[number];

export const triggerTabs = ['connect', 'executions', 'deliveries', 'try', 'buffers', 'settings'] as const;
export type TriggerTab = (typeof triggerTabs)[number];

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
const oneOf = <Value extends string>(values: readonly Value[], value: unknown): Value | undefined =>
  values.find((one) => one === value);

const triggers = createRoute({
  getParentRoute: () => frameRoute,
  path: '/triggers',
  validateSearch: ({ type, enabled }): { readonly type?: TriggerType; readonly enabled?: boolean } => ({
    type: oneOf(triggerTypes, type),
    enabled: typeof enabled === 'boolean' ? enabled : undefined,
  }),
}).lazy(() => import('./triggers').then(({ Route }) => Route));

const newTrigger = createRoute({
  getParentRoute: () => frameRoute,
  path: '/triggers/new',
  validateSearch: ({ kind }): { readonly kind?: string } => ({ kind: text(kind) }),
}).lazy(() => import('./wizard/wizard').then(({ Route }) => Route));

const trigger = createRoute({
  getParentRoute: () => frameRoute,
  path: '/triggers/$triggerId',
  validateSearch: ({
    tab,
    status,
    execution,
  }): { readonly tab?: TriggerTab; readonly status?: string; readonly execution?: string } => ({
    tab: oneOf(triggerTabs, tab),
    status: text(status),
    execution: text(execution),
  }),
}).lazy(() => import('./trigger').then(({ Route }) => Route));

/** The addresses of this screen, children of `frameRoute`. */
export const triggersRoutes = [triggers, newTrigger, trigger] as const;

export const triggersEntries: readonly NavigationEntry[] = [
  {
    title: 'Triggers',
    path: '/triggers',
    icon: Zap,
    group: 'Build',
    permission: 'triggers:read',
    words: 'webhook mail schedule cron database deliveries dead letters',
  },
];
