import { createRoute } from '@tanstack/react-router';
import { TriangleAlert } from 'lucide-react';
import { frameRoute } from '../../routing/frame-route';
import type { NavigationEntry } from '../../routing/navigation';

export const periods = ['hour', 'day', 'week'] as const;
export type Period = (typeof periods)[number];

export interface ErrorsSearch {
  readonly code?: string;
  readonly agent?: string;
  readonly trigger?: string;
  /** The id of a request, as answers and their errors name it. */
  readonly request?: string;
  readonly period?: Period;
  /** The error whose details are open. */
  readonly error?: string;
}

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

const errors = createRoute({
  getParentRoute: () => frameRoute,
  path: '/errors',
  validateSearch: ({ code, agent, trigger, request, period, error }): ErrorsSearch => ({
    code: text(code),
    agent: text(agent),
    trigger: text(trigger),
    request: text(request),
    period: periods.find((one) => one === period),
    error: text(error),
  }),
}).lazy(() => import('./errors').then(({ Route }) => Route));

/** The addresses of this screen, children of `frameRoute`. */
export const errorsRoutes = [errors] as const;

export const errorsEntries: readonly NavigationEntry[] = [
  {
    title: 'Errors',
    path: '/errors',
    icon: TriangleAlert,
    group: 'Observe',
    permission: 'telemetry:read',
    words: 'failed refused request problem',
  },
];
