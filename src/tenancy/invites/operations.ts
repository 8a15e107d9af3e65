import { z } from 'zod';
import { roles } from '../../kernel/caller.js';
import { displayName, emailAddress, givenPassword, signedInShape } from '../identity/index.js';
import {
  named,
  anyone,
  anyoneOrUser,
  declare,
  done,
  doneShape,
  list,
  listShape,
  one,
  oneShape,
  type Operation,
  tenantUserAt,
  givenUuid,
} from '../../http/operations/index.js';
import type { Accept } from './accept.js';
import type { InviteRow } from './invites.store.js';
import type { Invites } from './invites.js';
import { joinPage } from './join-page.js';
import type { PreviewInvite } from './preview.js';

const path = '/api/tenants/:id/invites';
/** Far above the length of an issued token. */
const token = z.string().min(1).max(512);

const inviteShape = named(
  'Invite',
  z.object({
    id: z.uuid(),
    email: z.string(),
    role: z.enum(roles),
    status: z.literal('pending'),
    invited_by: z.uuid().describe('The id of the user, or of the API key, that sent it.'),
    created_at: z.iso.datetime(),
    expires_at: z.iso.datetime(),
  }),
);

export function inviteOperations(
  invites: Invites,
  accept: Accept,
  preview: PreviewInvite,
): readonly Operation[] {
  return [
    declare({
      name: 'invites.create',
      method: 'POST',
      audit: 'invites.create',
      idempotency: 'made',
      path,
      title: 'Invite a person by mail',
      description:
        'Only the mail contains the join link. It works once and expires after seven days. With `TROUPE_VERIFY_EMAIL=on` an owner of the tenant must have verified an address, and an address gets at most five invitations a day from all tenants together (`rate_limit_exceeded`).',
      access: tenantUserAt('id', 'members:write'),
      params: z.object({ id: givenUuid }),
      absent: 'tenant_not_found',
      body: z.object({ email: emailAddress, role: z.enum(roles) }),
      output: oneShape(inviteShape),
      status: 201,
      errors: ['email_unverified', 'conflict', 'ROLE_ESCALATION_DENIED'],
      handle: async ({ caller, body }) =>
        one(inviteFrom(await invites.create(caller, body.email, body.role))),
    }),
    declare({
      name: 'invites.list',
      method: 'GET',
      path,
      title: 'List pending invitations',
      access: tenantUserAt('id', 'members:read'),
      params: z.object({ id: givenUuid }),
      absent: 'tenant_not_found',
      output: listShape(inviteShape),
      handle: async ({ caller }) => list((await invites.list(caller.scope)).map(inviteFrom)),
    }),
    declare({
      name: 'invites.cancel',
      method: 'DELETE',
      audit: 'invites.cancel',
      path: `${path}/:inviteId`,
      title: 'Cancel an invitation',
      access: tenantUserAt('id', 'members:write'),
      params: z.object({ id: givenUuid, inviteId: givenUuid }),
      output: doneShape,
      errors: ['not_found', 'ROLE_ESCALATION_DENIED'],
      handle: async ({ caller, params }) => {
        await invites.cancel(caller, params.inviteId);
        return done('The invitation was cancelled.');
      },
    }),
    declare({
      name: 'invites.accept',
      method: 'POST',
      audit: { action: 'invites.accept', by: 'subject' },
      idempotency: { exempt: 'an invitation is accepted once, and a repeat is told so' },
      path: '/api/invites/accept',
      title: 'Join a tenant with the token of an invitation',
      description:
        'The owner of an existing account sends an access token or the password. For any other address an account is created.',
      access: anyoneOrUser(),
      body: z.object({ token, name: displayName.optional(), password: givenPassword.optional() }),
      output: signedInShape,
      status: 201,
      errors: [
        'registration_closed',
        'not_found',
        'invalid_credentials',
        'conflict',
        'rate_limit_exceeded',
        'service_unavailable',
      ],
      handle: ({ caller, body }) => accept(caller, body),
    }),
    declare({
      name: 'invites.join-page',
      method: 'GET',
      path: '/join',
      title: 'The page of a join link',
      description:
        'Shows the tenant, the inviter and the address, or why the link cannot be used. Opening it uses nothing up.',
      access: anyone(),
      query: z.object({ token: z.string().optional() }),
      output: z.string(),
      contentType: 'text/html',
      handle: async ({ query }) => joinPage(await preview(query.token ?? '')),
    }),
  ];
}

function inviteFrom(row: InviteRow): z.input<typeof inviteShape> {
  return {
    id: row.id,
    email: row.email,
    role: row.role,
    status: 'pending',
    invited_by: row.invited_by,
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at.toISOString(),
  };
}
