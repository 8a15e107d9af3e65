// Polls of a mailbox over a real store and a real IMAP connection: which mails run, and which are recorded as refused.
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { systemTime } from '../../../cluster/index.js';
import type { MailIntake } from '../../../src/automation/mail/mail-intake.js';
import { Mailboxes, type MailboxesParts } from '../../../src/automation/mail/mailboxes.js';
import { parseMail } from '../../../src/automation/mail-reading/parse-mail.js';
import type { SenderVerdict } from '../../../src/automation/mail-reading/parsed-mail.js';
import { Sources } from '../../../src/automation/sources/sources.js';
import { parseTriggerConfig } from '../../../src/automation/triggers/config/trigger-config.js';
import type { TriggerRow } from '../../../src/automation/triggers/triggers.store.js';
import { recordRefused } from '../../../src/conversations/sessions/index.js';
import { openStore, sql, type Store, StoreError } from '../../../src/infra/storage/index.js';
import { insertTenant } from '../../support/builders/callers.js';
import { mailboxSecret } from '../../support/builders/mailbox-secrets.js';
import { mailIntakeOver } from '../../support/builders/mail-intakes.js';
import { eventually } from '../../support/clocks/eventually.js';
import { databaseOfFile } from '../../support/database/database.js';
import { ownerView } from '../../support/database/owner-view.js';
import { type ImapServer, startImapServer } from '../../support/servers/imap-server.js';

const database = databaseOfFile(test);
let store: Store;
let owner: Awaited<ReturnType<typeof ownerView>>;

test.serial.before(async () => {
  store = await openStore({ databaseUrl: database.url });
  owner = await ownerView(database.url);
  database.atEnd(async () => {
    await owner.end();
    await store.close();
  });
});

interface Version {
  readonly revision: number;
  readonly server: ImapServer;
  readonly password?: string;
  readonly folder?: string;
}

interface Given {
  /** Whose mails are let in. */
  readonly allowed?: readonly string[];
  /** Happens while a mail is read. */
  readonly whileReading?: (mailboxes: Mailboxes) => Promise<void>;
  /** What is found out about the sender; `unchecked` unless given. */
  readonly verdict?: () => SenderVerdict;
  /** Takes the place of the intake's own recording. */
  readonly accept?: (own: MailIntake) => MailboxesParts['intake']['acceptWithin'];
}

/** A trigger with a mailbox, and nodes that poll it as they know it. */
async function startMailbox(t: ExecutionContext, given: Given = {}) {
  const scope = await insertTenant(store);
  const [id, agentId] = [randomUUID(), randomUUID()];
  await owner.query(
    `insert into agents (tenant_id, id, document) values ($1, $2, '{"name": "a", "type": "chat"}')`,
    [scope.tenantId, agentId],
  );
  await owner.query(
    `insert into triggers (tenant_id, id, agent_id, name, trigger_type, config)
      values ($1, $2, $3, 'mails', 'email', '{}')`,
    [scope.tenantId, id, agentId],
  );
  const startServer = async () => {
    const server = await startImapServer();
    t.teardown(() => server.close());
    return server;
  };
  const reported: unknown[] = [];
  const unasked = () => Promise.reject(new Error('nobody asks for it'));
  const intake = mailIntakeOver(store);
  const parsedOf = ({ server, folder = 'INBOX' }: Version) =>
    parseTriggerConfig('email', {
      imap: {
        host: '127.0.0.1',
        port: server.port,
        user: server.user,
        mailbox: folder,
        secret_ref: 'mailbox',
        tls: false,
      },
      reply: false,
      ...(given.allowed === undefined ? {} : { allowed_senders: [...given.allowed] }),
    });
  const mailboxesOf = (version: Version): Mailboxes => {
    const live: unknown = {
      get: () => ({
        id,
        scope,
        agentId,
        enabled: true,
        suspended: false,
        parsed: parsedOf(version),
        ...version,
      }),
    };
    const mailboxes = new Mailboxes({
      store,
      live: live as MailboxesParts['live'],
      intake: {
        evaluate: (found, received) => intake.evaluate(found, received),
        unreadable: (found, digest, reason) => intake.unreadable(found, digest, reason),
        acceptWithin: given.accept?.(intake) ?? ((of, tx, mail) => intake.acceptWithin(of, tx, mail)),
      },
      reader: {
        read: async (_tenant, raw) => {
          await given.whileReading?.(mailboxes);
          return { mail: await parseMail(Buffer.from(raw)), verdict: given.verdict?.() ?? 'unchecked' };
        },
      },
      checksSenders: false,
      addresses: { check: unasked },
      vault: { resolve: async () => mailboxSecret(version.password ?? version.server.password) },
      egress: { permittedAddresses: async () => ['127.0.0.1'] },
      time: systemTime,
      wake: () => undefined,
      report: (_attempted, error) => void reported.push(error),
    });
    t.teardown(() => mailboxes.stop());
    return mailboxes;
  };
  return {
    startServer,
    reported,
    /** The effects of a trigger's change in its transaction. */
    arm: (version: Version) =>
      store.inTenant(scope, (tx) => {
        const row: Partial<TriggerRow> = { id, revision: version.revision, enabled: true };
        return new Sources([mailboxesOf(version)]).arm(tx, row as TriggerRow, parsedOf(version));
      }),
    /** As if it had been armed, or another time of its state had been, so long ago. */
    age: (ms: number, of: readonly string[] = ['began_ms']) =>
      owner.query(
        `update trigger_sources
          set state = jsonb_set(state, $3, to_jsonb((state #>> $3::text[])::float8 - $2::float8))
          where trigger_id = $1`,
        [id, ms, of],
      ),
    /** As a node polls it that knows this version. Returns the messages to run. */
    poll: async (version: Version) => {
      await owner.query('update trigger_sources set due_at = now() where trigger_id = $1', [id]);
      const { items } = await mailboxesOf(version).poll(scope, id, false);
      return items.map(({ work }) => work.message);
    },
    refused: async () => {
      const { rows } = await owner.query<{ message: string; error: { message: string } | null }>(
        `select input ->> 'message' as message, error from executions where trigger_id = $1 order by created_at`,
        [id],
      );
      return rows;
    },
    /** Its state, and for how long no other node polls it. */
    source: async () => {
      const { rows } = await owner.query<{ state: unknown; held_ms: number }>(
        `select state, extract(epoch from due_at - clock_timestamp())::float8 * 1000 as held_ms
          from trigger_sources where trigger_id = $1`,
        [id],
      );
      return rows[0];
    },
  };
}

function mailOf(from: string, text: string): string {
  return `From: <${from}>\nTo: desk@hotel.example\nSubject: Rooms\nMessage-ID: <${randomUUID()}@example.com>\nContent-Type: text/plain; charset=utf-8\n\n${text}\n`;
}

test.serial('a refused mail that ends in half a character is recorded, and the next mail runs', async (t) => {
  const { startServer, arm, poll, refused } = await startMailbox(t, { allowed: ['ada@example.com'] });
  const version = { revision: 1, server: await startServer() };
  await arm(version);
  version.server.deliver(mailOf('mallory@example.com', `${'x'.repeat(99_999)}\u{1f600}`));
  version.server.deliver(mailOf('ada@example.com', 'a room, please'));
  t.deepEqual(await poll(version), ['a room, please']);
  t.deepEqual(
    (await refused()).map(({ message }) => message.length),
    [100_000],
  );
});

test.serial('a poll that the end of the node breaks off passes over no mail', async (t) => {
  let isEnding = true;
  const { startServer, arm, poll } = await startMailbox(t, {
    whileReading: async (mailboxes) => {
      if (isEnding) await mailboxes.stop();
    },
  });
  const version = { revision: 1, server: await startServer() };
  await arm(version);
  const texts = ['first', 'second', 'third'];
  for (const text of texts) version.server.deliver(mailOf('ada@example.com', text));
  await t.throwsAsync(poll(version));
  isEnding = false;
  t.deepEqual(await poll(version), texts);
});

test.serial(
  'a mail that cannot be recorded is passed over after some polls, and the mails behind it run',
  async (t) => {
    const { startServer, arm, poll, refused, reported } = await startMailbox(t, {
      accept: (own) => async (scope, tx, mail) => {
        const text = mail.refusal === undefined ? mail.work.message : mail.message;
        // What PostgreSQL refuses ends the transaction or its part.
        if (text === 'poison') await tx.query(sql.typeAlias('nothing')`select ${'"\\ud83d"'}::jsonb`);
        return own.acceptWithin(scope, tx, mail);
      },
    });
    const version = { revision: 1, server: await startServer() };
    await arm(version);
    const delivered = ['first', 'poison', 'third'].map((text) =>
      version.server.deliver(mailOf('ada@example.com', text)),
    );
    t.deepEqual(await poll(version), ['first']);
    t.deepEqual(await poll(version), []);
    t.deepEqual(
      delivered.map(({ flags }) => flags.has('\\Seen')),
      [true, false, false],
    );
    t.deepEqual(await refused(), []);
    t.deepEqual(await poll(version), ['third']);
    t.deepEqual(
      (await refused()).map(({ error }) => error?.message),
      ['The platform could not record this mail 3 times.'],
    );
    t.deepEqual(await poll(version), []);
    t.is(reported.length, 3);
  },
);

test.serial('while nothing can be recorded, polls fail and no mail is passed over', async (t) => {
  let fails = true;
  const { startServer, arm, poll } = await startMailbox(t, {
    accept: (own) => async (scope, tx, mail) => {
      if (fails) throw new StoreError('defect', 'nothing can be recorded');
      return own.acceptWithin(scope, tx, mail);
    },
  });
  const version = { revision: 1, server: await startServer() };
  await arm(version);
  version.server.deliver(mailOf('ada@example.com', 'a room, please'));
  for (let polls = 0; polls < 5; polls += 1) {
    await t.throwsAsync(poll(version), { message: 'nothing can be recorded' });
  }
  fails = false;
  t.deepEqual(await poll(version), ['a room, please']);
});

test.serial('a refused message is recorded without the characters that PostgreSQL refuses', async (t) => {
  const scope = await insertTenant(store);
  const id = randomUUID();
  const odd = (text: string): string => `${text}\0 \ud83d`;
  await store.inTenant(scope, (tx) =>
    recordRefused(tx, {
      id,
      agentId: randomUUID(),
      sessionId: null,
      triggerId: randomUUID(),
      channel: 'email',
      userId: null,
      consumerKey: odd('ada'),
      message: odd('hello'),
      status: 'blocked',
      error: { code: 'unauthenticated_sender', message: odd('nobody vouches') },
    }),
  );
  const { rows } = await owner.query(
    `select input ->> 'message' as message, input -> 'author' ->> 'id' as author, error ->> 'message' as error
      from executions where id = $1`,
    [id],
  );
  t.deepEqual(rows, [{ message: 'hello \ufffd', author: 'ada \ufffd', error: 'nobody vouches \ufffd' }]);
});

test.serial(
  'mail that arrives after a change of the mailbox runs although the first polls fail',
  async (t) => {
    const { startServer, arm, age, poll } = await startMailbox(t);
    const before = { revision: 1, server: await startServer() };
    await arm(before);
    before.server.deliver(mailOf('ada@example.com', 'to the old desk'));
    t.deepEqual(await poll(before), ['to the old desk']);
    const changed = { revision: 2, server: await startServer(), folder: 'Desk' };
    changed.server.deliver(mailOf('ada@example.com', 'before the change'), new Date(Date.now() - 120_000));
    await arm(changed);
    await age(45_000);
    await t.throwsAsync(poll({ ...changed, password: 'not the password' }), { message: /refused the user/ });
    changed.server.deliver(mailOf('ada@example.com', 'at night'), new Date(Date.now() - 20_000));
    t.deepEqual(await poll(changed), ['at night']);
  },
);

test.serial('a mailbox that is mistyped and corrected goes on where it was', async (t) => {
  const { startServer, arm, age, poll } = await startMailbox(t);
  const right = { revision: 1, server: await startServer() };
  await arm(right);
  right.server.deliver(mailOf('ada@example.com', 'one'));
  t.deepEqual(await poll(right), ['one']);
  await age(600_000);
  right.server.deliver(mailOf('ada@example.com', 'two'), new Date(Date.now() - 300_000));
  const wrong = { ...right, revision: 2, folder: 'Tpyo' };
  await arm(wrong);
  await t.throwsAsync(poll({ ...wrong, password: 'not the password' }), { message: /refused the user/ });
  await arm({ ...wrong, revision: 3, folder: 'Other' });
  const corrected = { ...right, revision: 4 };
  await arm(corrected);
  t.deepEqual(await poll(corrected), ['two']);
});

test.serial('a node that does not know the new mailbox yet leaves it to one that does', async (t) => {
  const { startServer, arm, poll, source } = await startMailbox(t);
  const before = { revision: 1, server: await startServer() };
  await arm(before);
  await poll(before);
  const changed = { revision: 2, server: await startServer(), folder: 'Desk' };
  await arm(changed);
  const armed = (await source())?.state;
  before.server.deliver(mailOf('ada@example.com', 'to the old desk'));
  t.deepEqual(await poll(before), []);
  t.deepEqual((await source())?.state, armed);
  changed.server.deliver(mailOf('ada@example.com', 'to the new desk'));
  t.deepEqual(await poll(changed), ['to the new desk']);
  // A change that keeps the mailbox keeps the position.
  const renamed = { ...changed, revision: 3 };
  await arm(renamed);
  changed.server.deliver(mailOf('ada@example.com', 'once more'));
  t.deepEqual(await poll(changed), []);
  t.deepEqual(await poll(renamed), ['once more']);
});

test.serial('a mailbox is held for as long as its server may take to send a large mail', async (t) => {
  const { startServer, arm, poll, source } = await startMailbox(t);
  const version = { revision: 1, server: await startServer() };
  await arm(version);
  version.server.deliver(mailOf('ada@example.com', `large${'\nx'.repeat(800_000)}`));
  const held: (() => void)[] = [];
  version.server.intercept = ({ given, answer }) => given.includes('BODY') && held.push(answer) > 0;
  const polling = poll(version);
  await eventually(() => held.length > 0, { what: 'the fetch of the mail' });
  const heldFor = (await source())?.held_ms ?? 0;
  for (const answer of held) answer();
  t.is((await polling).length, 1);
  t.true(heldFor > 40_000 && heldFor < 150_000, `${heldFor} ms`);
});

test.serial('mails of a mailbox that was restored from a backup run, each once', async (t) => {
  const { startServer, arm, poll } = await startMailbox(t);
  const version = { revision: 1, server: await startServer() };
  await arm(version);
  const [, second] = ['one', 'two', 'three'].map((text) =>
    version.server.deliver(mailOf('ada@example.com', text)),
  );
  t.deepEqual(await poll(version), ['one', 'two', 'three']);
  version.server.restoreTo(second?.uid ?? 0);
  version.server.deliver(mailOf('ada@example.com', 'four'));
  t.deepEqual(await poll(version), ['four']);
  version.server.deliver(mailOf('ada@example.com', 'five'));
  t.deepEqual(await poll(version), ['five']);
});

test.serial(
  'a mail runs once name servers tell of its sender, and is refused if they do not for a day',
  async (t) => {
    const sinceFirst = ['undecided', '0', 'since_ms'];
    let verdict: SenderVerdict = 'undecided';
    const mailbox = await startMailbox(t, { verdict: () => verdict });
    const { startServer, arm, age, poll, refused } = mailbox;
    const version = { revision: 1, server: await startServer() };
    await arm(version);
    const { flags } = version.server.deliver(mailOf('ada@example.com', 'one'));
    t.deepEqual(await poll(version), []);
    await age(60_000, sinceFirst);
    verdict = 'authenticated';
    t.false(flags.has('\\Seen'));
    t.deepEqual(await poll(version), ['one']);
    t.true(flags.has('\\Seen'));
    verdict = 'undecided';
    version.server.deliver(mailOf('ada@example.com', 'two'));
    t.deepEqual(await poll(version), []);
    t.deepEqual(await refused(), []);
    await age(86_400_000, sinceFirst);
    t.deepEqual(await poll(version), []);
    t.deepEqual(
      (await refused()).map(({ error }) => error?.message),
      ['The name servers did not tell whether the domain of ada@example.com vouches for this mail (DMARC).'],
    );
  },
);
