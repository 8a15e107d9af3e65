import type { Tool } from '../tool.js';

const secret = { params: { id: 'secret_id' } } as const;
const key = { params: { keyId: 'key_id' } } as const;
const tenant = { params: { id: null } } as const;
const member = { params: { id: null, userId: 'user_id' } } as const;

export const secretTools: readonly Tool[] = [
  {
    name: 'list_secrets',
    title: 'List secrets',
    description:
      'Use to see which secrets exist, of what kind, how old, and where they are used. Values are never shown.',
    operation: 'secrets.list',
    adminClass: 'secrets',
    hints: 'R',
  },
  {
    name: 'get_secret',
    title: 'Get a secret’s metadata',
    description:
      'Use before changing or deleting a secret: shows its kind, age and where it is used; never its value.',
    operation: 'secrets.get',
    adminClass: 'secrets',
    hints: 'R',
    ...secret,
  },
  {
    name: 'create_secret',
    title: 'Store a secret',
    description:
      'Use to store a credential, or a vendor’s key with kind llm_key and its provider. Returns its name for use as secret_ref. Try a vendor’s key with test_provider_key.',
    operation: 'secrets.create',
    adminClass: 'secrets',
    hints: '',
  },
  {
    name: 'update_secret',
    title: 'Rotate a secret',
    description:
      'Use to replace the value of a secret. The new value is used at once; where callers sign in with it, the old one stays valid for grace_seconds.',
    operation: 'secrets.set-value',
    adminClass: 'secrets',
    hints: 'D',
    ...secret,
  },
  {
    name: 'delete_secret',
    title: 'Delete a secret',
    description:
      'Use to remove a secret. Refused while something uses it, unless force is true; get_secret shows the uses.',
    operation: 'secrets.delete',
    adminClass: 'secrets',
    hints: 'DI',
    ...secret,
  },
  {
    name: 'test_provider_key',
    title: 'Try a vendor’s key',
    description:
      'Use after create_secret or update_secret with kind llm_key. Asks the vendor for its models. Returns whether the key is valid, and the vendor’s reason if not.',
    operation: 'secrets.test',
    adminClass: 'secrets',
    hints: 'RO',
    ...secret,
  },
  {
    name: 'rotate_trigger_secret',
    title: 'Rotate a webhook’s secret',
    description:
      'Use when the signing secret of a webhook may be known. The new one goes into the vault; the answer names it. The old one stays valid for grace_seconds.',
    operation: 'triggers.rotate-secret',
    adminClass: 'secrets',
    hints: 'D',
    params: { id: 'trigger_id' },
    output: {
      type: 'object',
      properties: {
        success: { const: true },
        data: {
          type: 'object',
          properties: {
            id: { type: 'string' },
            former_valid_until: { type: 'string' },
            webhook_secret_ref: { type: 'string', description: 'The name of the secret in the vault.' },
          },
          required: ['id', 'former_valid_until'],
        },
      },
      required: ['success', 'data'],
    },
  },
  {
    name: 'list_api_keys',
    title: 'List API keys',
    description:
      'Use to see the keys of the tenant with role, limits, last use and totals by status. Only the first and last characters of a key are shown.',
    operation: 'keys.list',
    adminClass: 'secrets',
    hints: 'R',
    output: {
      type: 'object',
      properties: {
        success: { const: true },
        data: { type: 'array', items: { type: 'object' } },
        count: { type: 'integer' },
        next_cursor: { type: ['string', 'null'] },
        stats: { type: 'object', description: 'Totals by status.' },
      },
      required: ['success', 'data', 'count', 'stats'],
    },
    run: async (call, input) => {
      const [keys, stats] = await Promise.all([
        call.operation('keys.list', input),
        call.operation('keys.stats', { ...input, query: {} }),
      ]);
      return { ...keys, stats: stats['data'] };
    },
  },
  {
    name: 'get_api_key',
    title: 'Get an API key',
    description:
      'Use to read one key’s role, requests per minute, expiry and use. The key itself is never shown.',
    operation: 'keys.get',
    adminClass: 'secrets',
    hints: 'R',
    ...key,
  },
  {
    name: 'update_api_key_rpm',
    title: 'Change a key’s requests per minute',
    description: 'Use to slow down or speed up one key, within the plan. Returns the new limit.',
    operation: 'keys.change_rate',
    adminClass: 'secrets',
    hints: 'I',
    ...key,
  },
  {
    name: 'revoke_api_key',
    title: 'Revoke an API key',
    description:
      'Use when a key leaked or is not needed. It stops working on all nodes within a second, for good.',
    operation: 'keys.revoke',
    adminClass: 'secrets',
    hints: 'DI',
    ...key,
  },
];

export const memberTools: readonly Tool[] = [
  {
    name: 'list_members',
    title: 'List members',
    description:
      'Use to see who belongs to the tenant, with roles. Then call update_member_role or remove_member.',
    operation: 'members.list',
    adminClass: 'members',
    hints: 'R',
    ...tenant,
  },
  {
    name: 'update_member_role',
    title: 'Change a member’s role',
    description: 'Use to give a member more or fewer rights, never above your own role. Returns the member.',
    operation: 'members.update',
    adminClass: 'members',
    hints: 'DI',
    omit: ['phone', 'external_id'],
    required: ['role'],
    ...member,
  },
  {
    name: 'remove_member',
    title: 'Remove a member',
    description:
      'Use to take a person out of the tenant. Their sign-in to it ends at once; what they made stays.',
    operation: 'members.remove',
    adminClass: 'members',
    hints: 'DI',
    ...member,
  },
  {
    name: 'list_invites',
    title: 'List pending invitations',
    description: 'Use to see who was invited and has not joined yet. cancel_invite withdraws one.',
    operation: 'invites.list',
    adminClass: 'members',
    hints: 'R',
    ...tenant,
  },
  {
    name: 'create_invite',
    title: 'Invite a person',
    description: 'Use to invite a person by mail with a role. Only the mail holds the join link.',
    operation: 'invites.create',
    adminClass: 'members',
    hints: 'O',
    ...tenant,
  },
  {
    name: 'cancel_invite',
    title: 'Cancel an invitation',
    description: 'Use to withdraw an invitation that was not accepted yet. Its link stops working at once.',
    operation: 'invites.cancel',
    adminClass: 'members',
    hints: 'DI',
    params: { id: null, inviteId: 'invite_id' },
  },
];

export const billingTools: readonly Tool[] = [
  {
    name: 'get_billing_plan',
    title: 'Get the plan',
    description:
      'Use to see the plan, its limits and model tiers, the current period and the budget. get_billing_usage shows what was spent.',
    operation: 'billing.plan',
    adminClass: 'billing',
    hints: 'R',
  },
  {
    name: 'get_billing_usage',
    title: 'Get cost and tokens',
    description:
      'Use to see what was spent in a range, grouped by day, agent, model, key, user, source or payer. Returns calls, tokens and cost of each group and in total.',
    operation: 'billing.usage',
    adminClass: 'billing',
    hints: 'R',
  },
];
