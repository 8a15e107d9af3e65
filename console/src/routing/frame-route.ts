import { createRoute, redirect } from '@tanstack/react-router';
import { session } from '../session/session';
import { rootRoute } from './root-route';

/** The parent of every screen of a signed-in person. `router.tsx` gives it the frame: sidebar, tenant, account. */
export const frameRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'frame',
  beforeLoad: ({ location }) => {
    if (session.get() === null) {
      redirect({
        to: '/sign-in',
        search: { next: location.href === '/' ? undefined : location.href },
        throw: true,
      });
    }
  },
});
