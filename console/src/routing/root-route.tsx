import { createRootRoute, Outlet } from '@tanstack/react-router';
import { Missing } from '../ui/states';
import { useLeaveQuestion } from '../ui/unsaved';

/** The root of all addresses. */
export const rootRoute = createRootRoute({
  component: Root,
  notFoundComponent: () => (
    <main id="content">
      <Missing what="This address" />
    </main>
  ),
});

function Root() {
  useLeaveQuestion();
  return <Outlet />;
}
