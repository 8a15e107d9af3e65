import { createRoute } from '@tanstack/react-router';
import { ServerCog } from 'lucide-react';
import type { NavigationEntry } from '../../routing/navigation';
import { rootRoute } from '../../routing/root-route';

export const planNames = ['free', 'basic', 'pro', 'enterprise'] as const;
export type PlanName = (typeof planNames)[number];
export const tenantStates = ['active', 'suspended', 'deleting'] as const;
export type TenantState = (typeof tenantStates)[number];

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** Beside the frame of signed-in people: the operator has a token, and no account and no tenant. */
const operator = createRoute({ getParentRoute: () => rootRoute, path: '/operator' }).lazy(() =>
  import('./operator-frame').then(({ Route }) => Route),
);

const cluster = createRoute({
  getParentRoute: () => operator,
  path: '/',
  validateSearch: ({ node }): { readonly node?: string } => ({ node: text(node) }),
}).lazy(() => import('./cluster/cluster').then(({ Route }) => Route));

export interface TenantsSearch {
  readonly search?: string;
  readonly plan?: PlanName;
  readonly status?: TenantState;
  readonly tenant?: string;
  readonly create?: true;
}

const tenants = createRoute({
  getParentRoute: () => operator,
  path: '/tenants',
  validateSearch: ({ search, plan, status, tenant, create }): TenantsSearch => ({
    search: text(search),
    plan: planNames.find((one) => one === plan),
    status: tenantStates.find((one) => one === status),
    tenant: text(tenant),
    create: create === true ? true : undefined,
  }),
}).lazy(() => import('./tenants/tenants').then(({ Route }) => Route));

const users = createRoute({
  getParentRoute: () => operator,
  path: '/users',
  validateSearch: ({ search }): { readonly search?: string } => ({ search: text(search) }),
}).lazy(() => import('./users').then(({ Route }) => Route));

export interface OperatorErrorsSearch {
  readonly code?: string;
  readonly node?: string;
  readonly words?: string;
  readonly error?: string;
}

const errors = createRoute({
  getParentRoute: () => operator,
  path: '/errors',
  validateSearch: ({ code, node, words, error }): OperatorErrorsSearch => ({
    code: text(code),
    node: text(node),
    words: text(words),
    error: text(error),
  }),
}).lazy(() => import('./errors').then(({ Route }) => Route));

export const operatorRoute = operator.addChildren([cluster, tenants, users, errors]);

export const operatorEntries: readonly NavigationEntry[] = [
  {
    title: 'Operator',
    path: '/operator',
    icon: ServerCog,
    group: 'Installation',
    paletteOnly: true,
    words: 'cluster nodes tenants users plans installation',
  },
];
