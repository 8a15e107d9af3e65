import { createRoute } from '@tanstack/react-router';
import { Bot } from 'lucide-react';
import { frameRoute } from '../../routing/frame-route';
import type { NavigationEntry } from '../../routing/navigation';

export const agentStatuses = ['draft', 'published', 'archived'] as const;
export type AgentStatus = (typeof agentStatuses)[number];

export const agentTabs = ['prompt', 'model', 'tools', 'memory', 'details', 'versions'] as const;
export type AgentTab = (typeof agentTabs)[number];

const oneOf = <Value extends string>(values: readonly Value[], value: unknown): Value | undefined =>
  values.find((one) => one === value);

const agents = createRoute({
  getParentRoute: () => frameRoute,
  path: '/agents',
  validateSearch: ({
    status,
    search,
    create,
  }): { readonly status?: AgentStatus; readonly search?: string; readonly create?: true } => ({
    status: oneOf(agentStatuses, status),
    search: typeof search === 'string' ? search : undefined,
    create: create === true ? true : undefined,
  }),
}).lazy(() => import('./agents').then(({ Route }) => Route));

const agent = createRoute({
  getParentRoute: () => frameRoute,
  path: '/agents/$agentId',
  validateSearch: ({
    tab,
    version,
    against,
  }): { readonly tab?: AgentTab; readonly version?: number; readonly against?: number } => ({
    tab: oneOf(agentTabs, tab),
    version: typeof version === 'number' ? version : undefined,
    against: typeof against === 'number' ? against : undefined,
  }),
}).lazy(() => import('./agent').then(({ Route }) => Route));

/** The addresses of this screen, children of `frameRoute`. */
export const agentsRoutes = [agents, agent] as const;

export const agentsEntries: readonly NavigationEntry[] = [
  {
    title: 'Agents',
    path: '/agents',
    icon: Bot,
    group: 'Build',
    permission: 'agents:read',
    words: 'prompt tools playground',
  },
];
