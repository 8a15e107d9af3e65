import { createRoute } from '@tanstack/react-router';
import { ArrowLeftRight } from 'lucide-react';
import { frameRoute } from '../../frame/frame-route';
import type { NavigationEntry } from '../../frame/navigation';

export interface CallsSearch {
  readonly status?: 'success' | 'error';
  readonly model?: string;
  readonly agent?: string;
  readonly call?: string;
}

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

const calls = createRoute({
  getParentRoute: () => frameRoute,
  path: '/calls',
  validateSearch: ({ status, model, agent, call }): CallsSearch => ({
    status: (['success', 'error'] as const).find((one) => one === status),
    model: text(model),
    agent: text(agent),
    call: text(call),
  }),
}).lazy(() => import('./calls').then(({ Route }) => Route));

/** The addresses of this screen, children of `frameRoute`. */
export const callsRoutes = [calls] as const;

export const callsEntries: readonly NavigationEntry[] = [
  {
    title: 'Calls',
    path: '/calls',
    icon: ArrowLeftRight,
    group: 'Observe',
    permission: 'telemetry:read',
    words: 'log requests model tokens latency',
  },
];
