import { useNavigate } from '@tanstack/react-router';
import { switchTenant } from '../session/session';
import { mayLeave } from '../ui/unsaved';

/** Puts a tenant on screen, at the overview: an address names things of one tenant. */
export function useOpenTenant(): (id: string) => void {
  const navigate = useNavigate();
  return (id) => {
    // The screen that is left must not read its address in the other tenant.
    if (mayLeave()) void navigate({ to: '/', ignoreBlocker: true }).then(() => switchTenant(id));
  };
}
