// A node's questions to the actors of tenants: over the real runtime, with an actor that records them.
import { randomBytes, randomUUID } from 'node:crypto';
import test from 'ava';
import { systemPlatform } from '../../../../src/infra/platform/index.js';
import { freshProcessId, systemTime, volatileActor } from '../../../../cluster/index.js';
import {
  type AdmitEntry,
  type AdmitRequest,
  QuotaServiceDefinition,
  type SettleRequest,
  type RefundRequest,
} from '../../../../generated/troupe/actors/v1/quota.js';
import { createActors } from '../../../../src/infra/runtime/index.js';
import { readSettings } from '../../../../src/kernel/config/index.js';
import { tenantScope } from '../../../../src/kernel/tenant-scope.js';
import { createLog } from '../../../../src/infra/diagnostics/index.js';
import { QuotaRequests } from '../../../../src/tenancy/quota/quota-requests.js';
import { entryToWire, unavailable } from '../../../../src/tenancy/quota/wire/admission.js';
import { reservedToWire } from '../../../../src/tenancy/quota/wire/tokens.js';
import { createSealer } from '../../../../src/infra/sealing/index.js';
import { openStore } from '../../../../src/infra/storage/index.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { costReservedToWire } from '../../../../src/tenancy/quota/wire/costs.js';

const database = databaseOfFile(test);

function entry(keyPerMinute: number): AdmitEntry {
  const scope = tenantScope(randomUUID());
  const key = { scope, keyId: randomUUID(), requestsPerMinute: keyPerMinute, quotaLimit: null };
  const limits = { requestsPerMinute: 1, requestsPerDay: 1 };
  return entryToWire({ limits, key, enters: true, works: false });
}

test('questions of one event loop turn share one call per tenant, and each gets its answer', async (t) => {
  const store = await openStore({ databaseUrl: database.url });
  t.teardown(() => store.close());
  const actors = createActors({
    settings: readSettings({}),
    process: freshProcessId('alone'),
    store,
    sealer: createSealer({ masterKey: randomBytes(32), random: systemPlatform.random }),
    logger: createLog({ level: 'silent' }).logger,
    onLost: () => undefined,
  });
  const asked: number[] = [];
  const told: string[] = [];
  const kind = volatileActor({
    service: QuotaServiceDefinition,
    create: () => ({
      admit({ entries }: AdmitRequest) {
        asked.push(entries.length);
        const answers = entries.map(({ key }) => ({
          entry: { ...unavailable, limit: key?.perMinute ?? 0 },
          work: undefined,
        }));
        return { answers };
      },
      refund({ entries }: RefundRequest) {
        told.push(`took back ${entries.length}`);
        return {};
      },
      settle({ settlements }: SettleRequest) {
        told.push(`settled ${settlements.map(({ tokens }) => tokens).join(' ')}`);
        return {};
      },
      reserve: () => reservedToWire({ outcome: 'reserved' }),
      reserveCost: () => costReservedToWire({ outcome: 'busy' }),
      settleCosts: () => ({}),
      handOver: () => ({}),
    }),
  });
  actors.register(kind);
  const references = actors.references(kind);
  const failures: string[] = [];
  const questions = new QuotaRequests({
    time: systemTime,
    quotaOf: (tenantId) => references(tenantId, 'quota'),
    report: (attempted) => failures.push(attempted),
  });
  await actors.start();

  const [one, other] = [tenantScope(randomUUID()), tenantScope(randomUUID())];
  const answers = await Promise.all([
    ...Array.from({ length: 100 }, (_, limit) => questions.ask(one, entry(limit))),
    questions.ask(other, entry(500)),
  ]);
  t.deepEqual(
    answers.map(({ entry: verdict }) => verdict?.limit),
    [...Array.from({ length: 100 }, (_, limit) => limit), 500],
  );
  t.deepEqual(
    asked.toSorted((a, b) => a - b),
    [1, 100],
  );

  questions.refund(one, entry(1), 0);
  questions.refund(one, entry(2), 0);
  questions.settle(one, { attemptId: 'a', reserved: 9, tokens: 3 });
  questions.settle(one, { attemptId: 'b', reserved: 9, tokens: 4 });
  await questions.flush();
  t.deepEqual(told, ['took back 2', 'settled 3 4']);

  await actors.stop();
  await t.throwsAsync(questions.ask(one, entry(1)), { code: 'service_unavailable' });
  questions.settle(one, { attemptId: 'c', reserved: 9, tokens: 5 });
  await questions.flush();
  t.deepEqual(failures, ['settling tokens'], 'a settlement that nobody heard is told to the log');
});
