import { createLazyRoute, Link, Outlet } from '@tanstack/react-router';
import { LogOut, Network, TriangleAlert, UsersRound, Building2 } from 'lucide-react';
import { useValue } from '../../session/value';
import { Brand } from '../../ui/brand';
import { Button } from '../../ui/button';
import type { FieldSpecs } from '../../ui/form/fields';
import { Form } from '../../ui/form/form';
import { SignedOutPage } from '../sign-in/signed-out-page';
import { beginOperator, endOperator, operatorToken } from './operator-session';
import { ThemeMenu } from './theme-menu';

export const Route = createLazyRoute('/operator')({ component: OperatorFrame });

/** The sign-in stands in the place of the screen, so that an address survives it. */
function OperatorFrame() {
  const token = useValue(operatorToken);
  return token === undefined ? <SignIn /> : <Frame />;
}

const places = [
  { to: '/operator', title: 'Cluster', icon: Network },
  { to: '/operator/tenants', title: 'Tenants', icon: Building2 },
  { to: '/operator/users', title: 'Users', icon: UsersRound },
  { to: '/operator/errors', title: 'Errors', icon: TriangleAlert },
] as const;

function Frame() {
  return (
    <div className="flex min-h-dvh flex-col">
      <a
        href="#content"
        className="sr-only focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-70 focus:rounded-md focus:bg-accent focus:px-3 focus:py-2 focus:text-on-accent"
      >
        Skip to the content
      </a>
      <header className="sticky top-0 z-10 flex flex-wrap items-center gap-x-4 border-b border-line bg-surface px-3 md:h-12 md:flex-nowrap">
        <p className="flex h-12 items-center gap-2 text-base font-semibold">
          <Brand />
          <span className="text-sm font-normal text-muted">operator</span>
        </p>
        <nav
          aria-label="Operator"
          className="order-last -mx-1 flex w-full gap-1 pb-2 md:order-none md:w-auto md:pb-0"
        >
          {places.map(({ to, title, icon: Icon }) => (
            <Link
              key={to}
              to={to}
              activeOptions={{ exact: to === '/operator', includeSearch: false }}
              className="flex h-8 items-center gap-2 rounded-md px-2.5 text-sm"
              activeProps={{ className: 'bg-accent-soft text-accent font-medium' }}
              inactiveProps={{ className: 'text-text hover:bg-hover' }}
            >
              <Icon size={16} aria-hidden className="max-sm:hidden" />
              {title}
            </Link>
          ))}
        </nav>
        <div className="ml-auto flex items-center gap-1">
          <ThemeMenu />
          <Button kind="quiet" icon={<LogOut size={16} aria-hidden />} onClick={endOperator}>
            Sign out
          </Button>
        </div>
      </header>
      <main id="content" tabIndex={-1} className="min-w-0 flex-1 outline-none">
        <Outlet />
      </main>
    </div>
  );
}

const fields = {
  token: {
    kind: 'text',
    type: 'password',
    label: 'Operator token',
    autoComplete: 'current-password',
    required: true,
    hint: 'TROUPE_OPERATOR_TOKEN of the nodes. It stays in this page until you reload it.',
  },
} as const satisfies FieldSpecs;

function SignIn() {
  return (
    <SignedOutPage title="Operator">
      <Form fields={fields} asks={false} verb="Sign in" submit={({ token }) => beginOperator(token.trim())} />
      <p className="mt-4 text-sm">
        <Link to="/" className="text-accent underline">
          Sign in with an account
        </Link>
      </p>
    </SignedOutPage>
  );
}
