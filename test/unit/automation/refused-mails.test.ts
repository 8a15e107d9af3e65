import { randomUUID } from 'node:crypto';
import test from 'ava';
import {
  type EvaluatedMail,
  MailIntake,
  type MailIntakeParts,
} from '../../../src/automation/mail/mail-intake.js';
import { PlatformError } from '../../../src/kernel/errors.js';
import { limitsOf } from '../../../src/kernel/plans/index.js';
import { tenantScope } from '../../../src/kernel/tenant-scope.js';
import { ClientWindows } from '../../../src/tenancy/quota/index.js';
import { ManualTime } from '../../support/clocks/manual-time.js';

const perMinute = 60;
const scope = tenantScope(randomUUID());

/** An intake whose store counts the mails that it is to record. */
function intake() {
  const time = new ManualTime('2026-11-30T12:00:00Z');
  const seen = { recorded: 0, tenantWork: 0 };
  const tx: unknown = {
    query: async () => {
      seen.recorded += 1;
      return { rowCount: 0 };
    },
  };
  const parts: unknown = {
    store: { inTenant: async (_: unknown, work: (tx: unknown) => Promise<void>) => work(tx) },
    quota: {
      admitTenantWork: () => {
        seen.tenantWork += 1;
        return { refusal: new PlatformError('rate_limit_exceeded') };
      },
    },
    refusedMails: new ClientWindows('test', { time, windowsMax: 100 }),
  };
  return { time, seen, tx, mails: new MailIntake(parts as MailIntakeParts) };
}

function refusedMail(triggerId: string, error: typeof unauthenticated | null): EvaluatedMail {
  const trigger: unknown = { id: triggerId, scope, limits: limitsOf('free', {}), agentId: randomUUID() };
  const messageId = `unauthenticated:${randomUUID()}`;
  const refusal = { status: 'blocked', error } as const;
  const mail = { messageId, thread: messageId, sessionId: null, message: 'hello', refusal };
  return { ...mail, trigger: trigger as EvaluatedMail['trigger'] };
}

const unauthenticated = { code: 'unauthenticated_sender', message: 'Nobody vouches for it.' } as const;

test('mails of unknown senders use no model work, and a trigger records at most 60 a minute', async (t) => {
  const { time, seen, mails } = intake();
  const id = randomUUID();
  const accept = (triggerId: string) => mails.accept(refusedMail(triggerId, unauthenticated));
  for (let sent = 0; sent < perMinute; sent += 1) await accept(id);
  await t.throwsAsync(accept(id), { instanceOf: PlatformError, code: 'rate_limit_exceeded' });
  t.deepEqual(seen, { recorded: perMinute, tenantWork: 0 });
  await accept(randomUUID());
  time.advance(60_000);
  await accept(id);
  t.deepEqual(seen, { recorded: perMinute + 2, tenantWork: 0 });
});

test('those of a mailbox that are more are passed over', async (t) => {
  const { seen, tx, mails } = intake();
  const id = randomUUID();
  for (let found = 0; found < perMinute + 5; found += 1) {
    t.is(await mails.acceptWithin(scope, tx as never, refusedMail(id, unauthenticated)), undefined);
  }
  t.deepEqual(seen, { recorded: perMinute, tenantWork: 0 });
});

test('a mail that a gate stops counts in the window of the tenant, is never refused, and has no limit here', async (t) => {
  const { seen, mails } = intake();
  const id = randomUUID();
  for (let sent = 0; sent < perMinute + 5; sent += 1) await mails.accept(refusedMail(id, null));
  t.deepEqual(seen, { recorded: perMinute + 5, tenantWork: perMinute + 5 });
});
