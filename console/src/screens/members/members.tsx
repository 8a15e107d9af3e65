import { createLazyRoute, useNavigate } from '@tanstack/react-router';
import { UserPlus } from 'lucide-react';
import { useAllowed, useTenant } from '../../session/use-session';
import { Button } from '../../ui/button';
import { CopyAs } from '../../ui/copy-as';
import { Page } from '../../ui/page';
import { Forbidden } from '../../ui/states';
import { InvitePerson } from './invite-person';
import { Invites } from './invites';
import { MemberTable } from './member-table';

export const Route = createLazyRoute('/frame/members')({ component: Members });

/** Who belongs to the tenant, and who was invited. */
function Members() {
  const { invite } = Route.useSearch();
  const navigate = useNavigate({ from: '/members' });
  const { id } = useTenant();
  const [mayRead, mayWrite] = [useAllowed('members:read'), useAllowed('members:write')];
  if (!mayRead) {
    return (
      <Page title="Members">
        <Forbidden what="members" />
      </Page>
    );
  }
  const show = (next: true | undefined) => void navigate({ search: { invite: next }, replace: true });
  return (
    <Page
      title="Members"
      description="People of this tenant. What each may do follows from the role."
      actions={
        <>
          <CopyAs
            request={{
              method: 'GET',
              path: `/api/tenants/${id}/members`,
              mcp: { tool: 'list_members', arguments: {} },
            }}
          />
          {mayWrite && (
            <Button kind="primary" icon={<UserPlus size={14} aria-hidden />} onClick={() => show(true)}>
              Invite a person
            </Button>
          )}
        </>
      }
    >
      <MemberTable mayWrite={mayWrite} />
      <Invites mayWrite={mayWrite} />
      {invite === true && mayWrite && <InvitePerson onClose={() => show(undefined)} />}
    </Page>
  );
}
