import { createRoute } from '@tanstack/react-router';
import { ArrowLeftRight, Boxes } from 'lucide-react';
import { frameRoute } from '../../routing/frame-route';
import type { NavigationEntry } from '../../routing/navigation';

export interface CallsSearch {
  readonly status?: 'success' | 'error';
  readonly model?: string;
  readonly agent?: string;
}

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

const calls = createRoute({
  getParentRoute: () => frameRoute,
  path: '/calls',
  validateSearch: ({ status, model, agent }): CallsSearch => ({
    status: (['success', 'error'] as const).find((one) => one === status),
    model: text(model),
    agent: text(agent),
  }),
}).lazy(() => import('./calls').then(({ Route }) => Route));

const call = createRoute({ getParentRoute: () => frameRoute, path: '/calls/$callId' }).lazy(() =>
  import('./call').then(({ Route }) => Route),
);

const models = createRoute({ getParentRoute: () => frameRoute, path: '/models' }).lazy(() =>
  import('./models/models').then(({ Route }) => Route),
);

/** Beside each other on a wide screen; more are no longer readable. */
export const comparedMax = 4;

const trial = createRoute({
  getParentRoute: () => frameRoute,
  path: '/models/try',
  validateSearch: ({ models: chosen }): { readonly models: readonly string[] } => ({
    models: Array.isArray(chosen)
      ? chosen.filter((one) => typeof one === 'string' && one !== '').slice(0, comparedMax)
      : [],
  }),
}).lazy(() => import('./models/trial').then(({ Route }) => Route));

/** The addresses of this screen, children of `frameRoute`. */
export const callsRoutes = [calls, call, models, trial] as const;

export const callsEntries: readonly NavigationEntry[] = [
  {
    title: 'Calls',
    path: '/calls',
    icon: ArrowLeftRight,
    group: 'Observe',
    permission: 'telemetry:read',
    words: 'log requests model tokens latency',
  },
  {
    title: 'Models',
    path: '/models',
    icon: Boxes,
    group: 'Observe',
    permission: 'models:read',
    words: 'prices availability try compare vendors playground',
  },
];
