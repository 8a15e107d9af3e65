import { createRouter } from '@tanstack/react-router';
import { frameRoute } from './routing/frame-route';
import { rootRoute } from './routing/root-route';
import { agentsRoutes } from './screens/agents/routes';
import { auditRoutes } from './screens/audit/routes';
import { callsRoutes } from './screens/calls/routes';
import { consumersRoutes } from './screens/consumers/routes';
import { databasesRoutes } from './screens/databases/routes';
import { errorsRoutes } from './screens/errors/routes';
import { inboxRoutes } from './screens/inbox/routes';
import { keysRoutes } from './screens/keys/routes';
import { membersRoutes } from './screens/members/routes';
import { operatorRoute } from './screens/operator/routes';
import { overviewRoutes } from './screens/overview/routes';
import { secretsRoutes } from './screens/secrets/routes';
import { settingsRoutes } from './screens/settings/routes';
import { signInRoutes } from './screens/sign-in/routes';
import { triggersRoutes } from './screens/triggers/routes';
import { turnsRoutes } from './screens/turns/routes';
import { usageRoutes } from './screens/usage/routes';
import { Failure, Loading } from './ui/states';

frameRoute.lazy(() => import('./frame/frame').then(({ Route }) => Route));

const routeTree = rootRoute.addChildren([
  ...signInRoutes,
  frameRoute.addChildren([
    ...overviewRoutes,
    ...inboxRoutes,
    ...turnsRoutes,
    ...agentsRoutes,
    ...triggersRoutes,
    ...callsRoutes,
    ...usageRoutes,
    ...consumersRoutes,
    ...keysRoutes,
    ...secretsRoutes,
    ...databasesRoutes,
    ...membersRoutes,
    ...auditRoutes,
    ...errorsRoutes,
    ...settingsRoutes,
  ]),
  operatorRoute,
]);

export const router = createRouter({
  routeTree,
  defaultPreload: 'intent',
  defaultPendingComponent: () => <Loading />,
  defaultErrorComponent: ({ error, reset }) => <Failure error={error} retry={reset} />,
  // Restoring writes a script into the page, which its policy refuses; lists keep their place themselves.
  scrollRestoration: false,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
