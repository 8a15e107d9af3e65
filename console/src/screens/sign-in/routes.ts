import { createRoute } from '@tanstack/react-router';
import { rootRoute } from '../../routing/root-route';

/** `next`: an address of the console to open after the sign-in. */
export interface SignInSearch {
  readonly next?: string | undefined;
}

/** Only addresses of this console: a link must not lead to another site. */
const ownAddress = /^\/(?![/\\])/;

const signIn = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sign-in',
  validateSearch: ({ next }): SignInSearch =>
    typeof next === 'string' && ownAddress.test(next) ? { next } : {},
}).lazy(() => import('./sign-in').then(({ Route }) => Route));

/** What an issuer adds to the address. The router reads a code of digits as a number. */
type IssuerAnswer = { readonly code?: string; readonly state?: string; readonly error?: string };

const comingBack = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sign-in/return',
  validateSearch: (search): IssuerAnswer =>
    Object.fromEntries(
      (['code', 'state', 'error'] as const)
        .map((name) => [name, search[name]] as const)
        .filter(([, value]) => typeof value === 'string' || typeof value === 'number')
        .map(([name, value]) => [name, String(value)]),
    ),
}).lazy(() => import('./return').then(({ Route }) => Route));

const register = createRoute({ getParentRoute: () => rootRoute, path: '/register' }).lazy(() =>
  import('./register').then(({ Route }) => Route),
);

const forgot = createRoute({ getParentRoute: () => rootRoute, path: '/forgot-password' }).lazy(() =>
  import('./forgot').then(({ Route }) => Route),
);

export const signInRoutes = [signIn, comingBack, register, forgot] as const;
