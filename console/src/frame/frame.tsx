import { createLazyRoute, Outlet, useRouter } from '@tanstack/react-router';
import { Menu as MenuIcon, X } from 'lucide-react';
import { lazy, Suspense, useEffect, useState } from 'react';
import { queries } from '../api/queries';
import { session } from '../session/session';
import { useValue } from '../session/value';
import { IconButton } from '../ui/button';
import { Page } from '../ui/page';
import { AccountMenu } from './account-menu';
import { PaletteButton } from './palette-button';
import { Sidebar } from './sidebar';
import { TenantSwitch } from './tenant-switch';
import { Unverified } from './unverified';

export const Route = createLazyRoute('/frame')({ component: Frame });

const CreateTenant = lazy(() =>
  import('./create-tenant').then((module) => ({ default: module.CreateTenant })),
);

/** The sidebar beside the screen; on a phone it slides over it. */
function Frame() {
  const [open, setOpen] = useState(false);
  const present = useValue(session);
  const router = useRouter();
  useEffect(() => {
    if (present !== null) return;
    queries.clear();
    // The frame's route looks at the sign-in again and leads to the form.
    void router.invalidate();
  }, [present, router]);
  useEffect(() => {
    if (!open) return undefined;
    const close = ({ key }: KeyboardEvent): void => {
      if (key === 'Escape') setOpen(false);
    };
    addEventListener('keydown', close);
    return () => removeEventListener('keydown', close);
  }, [open]);
  if (present === null) return null;
  return (
    <div className="flex min-h-dvh">
      <a
        href="#content"
        className="sr-only focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-70 focus:rounded-md focus:bg-accent focus:px-3 focus:py-2 focus:text-on-accent"
      >
        Skip to the content
      </a>
      {open && (
        <div
          className="fixed inset-0 z-20 bg-black/45 md:hidden"
          onClick={() => setOpen(false)}
          aria-hidden
        />
      )}
      <div
        className={`fixed inset-y-0 left-0 z-30 w-60 shrink-0 border-r border-line bg-surface md:sticky md:top-0 md:block md:h-dvh ${open ? 'block' : 'hidden'}`}
      >
        <Sidebar onNavigate={() => setOpen(false)} />
      </div>
      <div className="flex min-w-0 flex-1 flex-col">
        <header className="sticky top-0 z-10 flex h-12 items-center gap-2 border-b border-line bg-surface px-3">
          <div className="md:hidden">
            <IconButton
              label={open ? 'Close the menu' : 'Open the menu'}
              aria-expanded={open}
              onClick={() => setOpen(!open)}
              icon={open ? <X size={18} aria-hidden /> : <MenuIcon size={18} aria-hidden />}
            />
          </div>
          <TenantSwitch />
          <div className="flex-1" />
          {present.tenantId !== undefined && <PaletteButton />}
          <AccountMenu />
        </header>
        <Unverified />
        <main id="content" tabIndex={-1} className="min-w-0 flex-1 outline-none">
          {present.tenantId === undefined ? (
            <Page
              title="You belong to no tenant"
              description="Ask an owner or admin for an invitation, or create a tenant of your own."
            >
              <div className="max-w-md">
                <Suspense>
                  <CreateTenant />
                </Suspense>
              </div>
            </Page>
          ) : (
            // Another tenant is another page: no state of one is left in the other.
            <Outlet key={present.tenantId} />
          )}
        </main>
      </div>
    </div>
  );
}
