import { randomUUID } from 'node:crypto';
import test from 'ava';
import { systemIds } from '../../../src/infra/platform/index.js';
import { tenantScope } from '../../../src/kernel/tenant-scope.js';
import { type ErrorCode, PlatformError } from '../../../src/kernel/errors.js';
import { webhookConfig } from '../../../src/automation/triggers/config/webhook-config.js';
import { createIntake, type IntakeParts } from '../../../src/automation/intake/create-intake.js';
import {
  type WebhookCheckParts,
  webhookChecks,
} from '../../../src/automation/intake/pipeline/webhook-checks.js';
import { RepeatedMessages } from '../../../src/automation/intake/repeated-messages.js';
import { systemTime } from '../../../cluster/index.js';

/** The row of a keyed message after its turn fails in this way. */
async function afterFailure(code: ErrorCode): Promise<readonly string[]> {
  const statements: string[] = [];
  const scope = tenantScope(randomUUID());
  const config = webhookConfig.parse({ auth: { type: 'none' } });
  const tx = { query: async ({ sql }: { sql: string }) => statements.push(sql.trim().split(/\s+/)[0] ?? '') };
  const store = { inTenant: async (_scope: unknown, work: (transaction: typeof tx) => unknown) => work(tx) };
  const senderBlocks = { isDenied: () => false, isTakenOver: async () => false };
  const quota = { admitTenantWork: () => ({}), monthlyRefusal: () => undefined };
  const repeats = new RepeatedMessages(
    store as never,
    { inTenant: async () => [], directory: async () => [], close: async () => undefined },
    systemTime,
  );
  const deciding: unknown = {
    live: {
      get: () => ({
        id: randomUUID(),
        scope,
        agentId: randomUUID(),
        enabled: true,
        parsed: { type: 'webhook', config },
      }),
    },
    agents: { publishedAgent: () => ({}) },
    authentication: { authenticate: () => undefined },
    uncounted: { refusal: () => undefined, isRefusedOften: () => false },
    ids: systemIds,
    store,
    repeats,
    senderBlocks,
    quota,
  };
  const handling: unknown = {
    store,
    repeats,
    senderBlocks,
    quota,
    runner: {
      run: async () => {
        throw PlatformError.again(code, {});
      },
    },
    buffers: { flushOpen: () => undefined },
    measures: { accepted: () => undefined, refused: () => undefined },
  };
  const intake = createIntake({
    checks: webhookChecks(deciding as WebhookCheckParts),
    uncounted: { noteEnded: () => undefined, noteRefused: () => undefined },
    rows: {
      inbox: { write: async () => ({ fate: 'accepted', buffered: 0, seq: 1, isBehind: false }) },
      reads: { inTenant: async () => [] },
      seal: { seal: () => Buffer.from('sealed') },
      ownKey: () => 'own',
    },
    handling: handling as IntakeParts['handling'],
  });
  const request = {
    body: Buffer.from('{"message":"hi"}'),
    headers: { 'content-type': 'application/json', 'idempotency-key': 'one' },
    urls: () => [],
    address: '127.0.0.1',
    requestId: 'x',
  };
  await intake.take(randomUUID(), request).catch((error: unknown) => {
    if (!(error instanceof PlatformError) || error.code !== code) throw error;
  });
  return statements;
}

test("a key is free again after a refusal, but not if the turn's acceptance is unknown", async (t) => {
  t.deepEqual(await afterFailure('conflict'), ['delete']);
  t.deepEqual(await afterFailure('rate_limit_exceeded'), ['delete']);
  t.deepEqual(await afterFailure('service_unavailable'), ['update']);
});
