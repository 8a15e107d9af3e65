// What a mail's acceptance does when it does not learn whether its batch was committed. The store is real.
import { randomBytes, randomUUID } from 'node:crypto';
import test from 'ava';
import type { InboxMessage } from '../../../src/automation/messages/inbox-message.js';
import { MessageSealer } from '../../../src/automation/messages/message-payload.js';
import { MailIntake, type MailIntakeParts } from '../../../src/automation/mail/mail-intake.js';
import { mailTarget } from '../../../src/automation/mail/mail-target.js';
import { parseTriggerConfig } from '../../../src/automation/triggers/config/trigger-config.js';
import { systemPlatform } from '../../../src/infra/platform/index.js';
import { createSealer } from '../../../src/infra/sealing/index.js';
import { StoreError } from '../../../src/infra/storage/index.js';
import { limitsOf } from '../../../src/kernel/plans/index.js';
import { tenantScope } from '../../../src/kernel/tenant-scope.js';
import { EndedMessages } from '../../support/builders/ended-messages.js';

const messages = new EndedMessages(test);
const figures = { limit: 60, remaining: 59, reset: 0 };
const seal = new MessageSealer(createSealer({ masterKey: randomBytes(32), random: systemPlatform.random }));

/** Accepts one mail; returns what the runner was asked to do. */
async function accept(write: MailIntakeParts['inbox']['write']) {
  const scope = tenantScope(await messages.tenant());
  const begun: InboxMessage[] = [];
  const lookedFor: { readonly item: InboxMessage; readonly looks: number | undefined }[] = [];
  const unasked = (what: string) => () => Promise.reject(new Error(`${what} was asked`));
  const intake = new MailIntake({
    store: { inTenant: unasked('a transaction') },
    reads: { inTenant: unasked('a read') },
    senderBlocks: { isDenied: () => false },
    addresses: { ownAddresses: () => [], sendingAs: unasked('an address') },
    quota: { admitTenantWork: () => ({ figures }) },
    refusedMails: { countAtOnce: () => ({ figures }) },
    inbox: { write },
    runner: {
      begin: (item: InboxMessage) => void begun.push(item),
      beginIfAccepted: (item: InboxMessage, looks?: number) => void lookedFor.push({ item, looks }),
    },
    seal,
    measures: { accepted: () => undefined },
    ids: systemPlatform.ids,
  });
  const trigger = {
    id: randomUUID(),
    scope,
    limits: limitsOf('free', {}),
    agentId: randomUUID(),
    enabled: true,
    suspended: false,
    revision: 1,
    parsed: parseTriggerConfig('webhook', { auth: { type: 'none' } }),
    secrets: [],
    formerSecretUntilMs: 0,
  };
  const mail = { trigger, messageId: 'one@example.com', thread: 'one@example.com', sessionId: randomUUID() };
  const work = { message: 'hello', context: {}, consumerKey: 'somebody@example.com' };
  await messages.owner.query(
    `insert into agents (tenant_id, id, document) values ($1, $2, '{"name": "a", "type": "chat"}')`,
    [scope.tenantId, trigger.agentId],
  );
  await messages.owner.query(
    `insert into triggers (tenant_id, id, agent_id, name, trigger_type, config)
      values ($1, $2, $3, 'mails', 'email', '{}')`,
    [scope.tenantId, trigger.id, trigger.agentId],
  );
  const error = await intake.accept({ ...mail, work }).then(
    () => undefined,
    (cause: unknown) => cause,
  );
  const inbox = async () =>
    (
      await messages.owner.query<{ execution_id: string }>(
        'select execution_id from trigger_inbox where trigger_id = $1',
        [trigger.id],
      )
    ).rows.map(({ execution_id: id }) => id);
  return { begun, lookedFor, error, inbox };
}

const written = (): MailIntakeParts['inbox'] => messages.writers.writer(mailTarget);

test('a mail runs once it is written', async (t) => {
  const { begun, lookedFor, error, inbox } = await accept((row) => written().write(row));
  t.is(error, undefined);
  t.deepEqual(await inbox(), [begun[0]?.executionId ?? '']);
  t.deepEqual(lookedFor, []);
});

test('a mail of a batch that was written again is looked for, since it may be its own repeat', async (t) => {
  const { begun, lookedFor, inbox } = await accept(async (row) => {
    await written().write(row);
    return written().write(row);
  });
  t.deepEqual(begun, []);
  t.deepEqual(
    lookedFor.map(({ item, looks }) => [item.executionId, looks]),
    [[(await inbox())[0], 1]],
  );
});

test('a mail whose commit is unknown is looked for, and its sender hears of the failure', async (t) => {
  const { lookedFor, error, inbox } = await accept(async (row) => {
    await written().write(row);
    throw new StoreError('outcome-unknown', 'Accepting a mail');
  });
  t.is(error instanceof StoreError && error.failure, 'outcome-unknown');
  t.is(lookedFor.length, 1);
  t.deepEqual(
    lookedFor.map(({ item }) => item.executionId),
    await inbox(),
  );
});
