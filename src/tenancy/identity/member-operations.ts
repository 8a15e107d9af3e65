import { z } from 'zod';
import { roles } from '../../kernel/caller.js';
import {
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
import type { Members } from './members.js';
import { memberFrom, memberShape } from './shapes.js';

const path = '/api/tenants/:id/members';
const memberParams = z.object({ id: givenUuid, userId: givenUuid });
/** Stored as digits, with the `+` if it was given, so that it can be compared with a sender's number. */
const phone = z
  .string()
  .max(40)
  .overwrite((text) => text.replaceAll(/[\s().-]/g, ''))
  .regex(/^\+?[0-9]{3,20}$/, 'must be a phone number');
const externalId = z.string().min(1).max(255);

export function memberOperations(members: Members): readonly Operation[] {
  return [
    declare({
      name: 'members.list',
      method: 'GET',
      path,
      title: 'List the members of a tenant',
      access: tenantUserAt('id', 'members:read'),
      params: z.object({ id: givenUuid }),
      absent: 'tenant_not_found',
      output: listShape(memberShape),
      handle: async ({ caller }) => list((await members.list(caller.scope)).map(memberFrom)),
    }),
    declare({
      name: 'members.update',
      method: 'PATCH',
      audit: 'members.update',
      path: `${path}/:userId`,
      title: "Change a member's role, phone number or external id",
      description:
        'Callers cannot change a member with a higher role or grant a role above their own. The last owner keeps the role.',
      access: tenantUserAt('id', 'members:write'),
      params: memberParams,
      body: z.object({
        role: z.enum(roles).optional(),
        phone: phone.nullish(),
        external_id: externalId.nullish(),
      }),
      output: oneShape(memberShape),
      errors: ['not_found', 'conflict', 'ROLE_ESCALATION_DENIED'],
      handle: async ({ caller, params, body }) =>
        one(memberFrom(await members.change(caller, params.userId.toLowerCase(), body))),
    }),
    declare({
      name: 'members.remove',
      method: 'DELETE',
      audit: 'members.remove',
      path: `${path}/:userId`,
      title: 'Remove a member',
      description: 'With revoke_keys=true, the API keys that the member made in this tenant are revoked too.',
      access: tenantUserAt('id', 'members:write'),
      params: memberParams,
      query: z.object({ revoke_keys: z.enum(['true', 'false']).optional() }),
      output: doneShape,
      errors: ['not_found', 'conflict', 'ROLE_ESCALATION_DENIED'],
      handle: async ({ caller, params, query }) => {
        const revokeKeys = query.revoke_keys === 'true';
        const revoked = await members.remove(caller, params.userId.toLowerCase(), revokeKeys);
        return done(
          revokeKeys ? `The member was removed; API keys revoked: ${revoked}.` : 'The member was removed.',
        );
      },
    }),
  ];
}
