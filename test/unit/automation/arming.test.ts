import { randomUUID } from 'node:crypto';
import test from 'ava';
import { tenantScope } from '../../../src/kernel/tenant-scope.js';
import type { Store, TenantTransaction } from '../../../src/infra/storage/index.js';
import { Triggers, type TriggersParts } from '../../../src/automation/management/triggers.js';
import type { TriggerRow } from '../../../src/automation/triggers/triggers.store.js';
import { userOf } from '../../support/builders/callers.js';

test('a changed trigger is polled once the change is committed and in force here', async (t) => {
  const told: string[] = [];
  const at = new Date();
  const row: TriggerRow = {
    id: randomUUID(),
    agent_id: randomUUID(),
    name: 'mailbox',
    trigger_type: 'email',
    config: {},
    enabled: true,
    first_enabled_at: at,
    revision: 2,
    approved: [],
    secret_id: null,
    former_secret_until: null,
    created_by: null,
    created_at: at,
    updated_at: at,
  };
  const scope = tenantScope(randomUUID());
  const tx: unknown = {
    scope,
    maybeOne: async () => row,
    oneFirst: async () => 7,
    query: async () => ({ rowCount: 1 }),
  };
  const store: unknown = {
    async inTenant(_scope: unknown, work: (tx: TenantTransaction) => Promise<unknown>) {
      const result = await work(tx as TenantTransaction);
      told.push('committed');
      return result;
    },
  };
  const feed: unknown = { reached: async (number: number) => told.push(`reached ${number}`) > 0 };
  const parts: Partial<TriggersParts> = {
    store: store as Store,
    feed: feed as TriggersParts['feed'],
    sources: {
      arm: async () => void told.push('armed'),
      beginning: async () => undefined,
      checkSettings: async () => undefined,
    },
    armed: (_scope, { id }) => told.push(`looked at ${id}`),
  };
  const triggers = new Triggers(parts as TriggersParts);
  await triggers.setEnabled(userOf(scope), row.id, true);
  t.deepEqual(told, ['armed', 'committed', 'reached 7', `looked at ${row.id}`]);
});
