import { type Permission, roleAllows } from './permissions';
import { session, type Session, type Tenant } from './session';
import { useValue } from './value';

/** The sign-in. Screens inside of the frame are shown only to people who are signed in. */
export function useSession(): Session {
  const present = useValue(session);
  if (present === null) throw new Error('this screen is shown only inside of the frame');
  return present;
}

/** The tenant on screen. */
export function useTenant(): Tenant {
  const { tenants, tenantId } = useSession();
  const tenant = tenants.find(({ id }) => id === tenantId);
  if (tenant === undefined) throw new Error('this screen is shown only with a tenant');
  return tenant;
}

/** Whether the person may do this in the tenant on screen. The API decides; this hides what it would refuse. */
export function useAllowed(permission: Permission): boolean {
  return roleAllows(useTenant().role, permission);
}
