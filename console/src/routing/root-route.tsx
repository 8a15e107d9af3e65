import { createRootRoute, Outlet } from '@tanstack/react-router';
import { Missing } from '../ui/states';

/** The root of all addresses. */
export const rootRoute = createRootRoute({
  component: Outlet,
  notFoundComponent: () => (
    <main id="content">
      <Missing what="This address" />
    </main>
  ),
});
