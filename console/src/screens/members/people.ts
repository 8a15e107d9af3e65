import { useQuery } from '@tanstack/react-query';
import type { paths } from '#api/openapi';
import { api, take } from '../../api/client';
import { useKey } from '../../api/queries';
import { useTenant } from '../../session/use-session';

export type Member =
  paths['/api/tenants/{id}/members']['get']['responses'][200]['content']['application/json']['data'][number];
export type Invite =
  paths['/api/tenants/{id}/invites']['get']['responses'][200]['content']['application/json']['data'][number];

export const roles = ['owner', 'admin', 'editor', 'member'] as const;
export type Role = (typeof roles)[number];

/** The roles that a person may give: nobody gives more than their own. */
export const rolesGivenBy = (own: Role): readonly Role[] => roles.slice(roles.indexOf(own));

export function useMembers() {
  const { id } = useTenant();
  return useQuery({
    queryKey: useKey('members'),
    queryFn: ({ signal }) => take(api.GET('/api/tenants/{id}/members', { params: { path: { id } }, signal })),
  });
}

export function useInvites() {
  const { id } = useTenant();
  return useQuery({
    queryKey: useKey('invites'),
    queryFn: ({ signal }) => take(api.GET('/api/tenants/{id}/invites', { params: { path: { id } }, signal })),
  });
}
