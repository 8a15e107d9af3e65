import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { z } from 'zod';
import { platformOf, logTo } from '../../../support/builders/platform.js';
import { systemPlatform } from '../../../../src/infra/platform/index.js';
import type { TenantScope } from '../../../../src/kernel/tenant-scope.js';
import { createMail, type Mail } from '../../../../src/infra/mail/index.js';
import { createOutboxFolder } from '../../../../src/infra/mail/outbox-folder.js';
import { createSealer } from '../../../../src/infra/sealing/index.js';
import { openStore, sql, type Store } from '../../../../src/infra/storage/index.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { createDatabase } from '../../../support/database/database.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { masterKey, type ShiftedTime, shiftedTime } from '../../../support/servers/identity.js';
import { createMailFolder } from '../../../support/servers/mail-folder.js';
import { type MailServer, startMailServer } from '../../../support/servers/mail-server.js';
import { TcpProxy } from '../../../support/servers/tcp-proxy.js';

const minuteMs = 60_000;

interface Post {
  readonly store: Store;
  readonly scope: TenantScope;
  readonly time: ShiftedTime;
  readonly problems: unknown[];
  /** Lets the time pass, for nodes and for PostgreSQL. */
  pass(ms: number): Promise<void>;
  /** Another node on the same database. */
  node(options: { smtpUrl?: string; outboxFolder?: string; key?: Buffer; formerKeys?: Buffer[] }): Mail;
  queue(mail: Mail, options?: { to?: string; subject?: string; text?: string }): Promise<string>;
  rows(): Promise<readonly z.output<typeof mailRow>[]>;
}

const mailRow = z.object({
  id: z.string(),
  attempts: z.number(),
  next_attempt_at: z.date(),
  sealed_content: z.instanceof(Buffer).nullable(),
  last_error: z.string().nullable(),
  sent: z.boolean(),
  given_up: z.boolean(),
});

type Teardown = { teardown(fn: () => Promise<void>): void };

async function openPost(t: Teardown): Promise<Post> {
  const { url } = await createDatabase(t);
  const store = await openStore({ databaseUrl: url });
  const mails: Mail[] = [];
  t.teardown(async () => {
    await Promise.all(mails.map((mail) => mail.close()));
    await store.close();
  });
  const scope = await insertTenant(store);
  const time = shiftedTime();
  const problems: unknown[] = [];
  return {
    store,
    scope,
    time,
    problems,
    pass: async (ms) => {
      time.aheadMs += ms;
      await store.directory((tx) =>
        tx.query(sql.typeAlias('nothing')`
          update mails set next_attempt_at = next_attempt_at - ${ms} * interval '1 millisecond',
            queued_at = queued_at - ${ms} * interval '1 millisecond'`),
      );
    },
    node({ smtpUrl, outboxFolder = '/nowhere', key = masterKey, formerKeys = [] }) {
      const mail = createMail(platformOf({ store, time, log: logTo((_, error) => problems.push(error)) }), {
        sealer: createSealer({ masterKey: key, formerMasterKeys: formerKeys, random: systemPlatform.random }),
        smtpUrl,
        outboxFolder,
        publicUrl: () => 'https://troupe.example.com/',
      });
      mails.push(mail);
      return mail;
    },
    queue: async (mail, { to = 'ada@example.com', subject = 'Hello', text = 'Good day.\n' } = {}) => {
      const queued = { tenantId: scope.tenantId, to, subject, text };
      const id = await store.inTenant(scope, (tx) => mail.queue(tx, queued));
      mail.wake();
      return id;
    },
    rows: () =>
      store.directory(async (tx) => [
        ...(await tx.any(sql.type(mailRow)`
          select id, attempts, next_attempt_at, sealed_content, last_error, sent_at is not null as sent,
            given_up_at is not null as given_up
          from mails order by queued_at, id`)),
      ]),
  };
}

/** The commit of another node that claims the mail. */
async function holdByAnother({ store }: Post, id: string): Promise<void> {
  await store.directory((tx) =>
    tx.query(sql.typeAlias('nothing')`
      update mails set attempts = 1, next_attempt_at = now() + interval '3 minutes' where id = ${id}`),
  );
}

async function openServer(t: Teardown): Promise<MailServer> {
  const server = await startMailServer();
  t.teardown(server.close);
  return server;
}

test('without a mail server a mail becomes a file that only its owner reads, with unbroken lines', async (t) => {
  const post = await openPost(t);
  const folder = await createMailFolder();
  t.teardown(folder.remove);
  const path = join(folder.path, 'made at the start');
  const mail = post.node({ outboxFolder: path });
  mail.start();
  t.deepEqual(await readdir(path), [], 'the folder is there before the first mail');
  const link = 'https://troupe.example.com/join?token=abc-DEF_123=x';
  const id = await post.queue(mail, { subject: 'Héllo', text: `Open this:\n\n${link}\n` });
  await eventually(async () => (await post.rows())[0]?.sent);
  const names = await readdir(path);
  t.is(names.length, 1, 'nothing unfinished is left');
  const [name = ''] = names;
  t.true(name.endsWith(`${id}.eml`));
  const content = await readFile(join(path, name), 'utf8');
  t.true(content.includes(`\r\n${link}\r\n`));
  t.regex(content, /^To: ada@example\.com\r$/m);
  t.regex(content, /^From: Troupe <no-reply@troupe\.example\.com>\r$/m);
  t.true(content.includes(`Message-ID: <${id}@troupe.example.com>`));
  t.is((await stat(join(path, name))).mode & 0o777, 0o600);
});

test('a mail is passed to the mail server, and nothing of it stays readable', async (t) => {
  const [post, server] = await Promise.all([openPost(t), openServer(t)]);
  const mail = post.node({ smtpUrl: server.url });
  await post.queue(mail, { text: 'the secret link\n' });
  const [waiting] = await post.rows();
  t.false(waiting?.sealed_content?.toString('latin1').includes('secret'));
  t.deepEqual(server.taken, [], 'nothing goes out before the start');
  mail.start();
  await eventually(async () => (await post.rows())[0]?.sent);
  t.is(server.taken.length, 1);
  t.true(server.taken[0]?.includes('the secret link'));
  t.like((await post.rows())[0], { attempts: 1, sealed_content: null, last_error: null });
});

test('a mail of a rolled back transaction is never sent', async (t) => {
  const [post, server] = await Promise.all([openPost(t), openServer(t)]);
  const mail = post.node({ smtpUrl: server.url });
  mail.start();
  const undone = new Error('undone');
  const attempt = post.store.inTenant(post.scope, async (tx) => {
    await mail.queue(tx, { tenantId: post.scope.tenantId, to: 'a@example.com', subject: 'no', text: 'no' });
    throw undone;
  });
  await t.throwsAsync(attempt, { is: undone });
  await post.queue(mail);
  await eventually(async () => (await post.rows())[0]?.sent);
  t.is(server.taken.length, 1);
});

test('a deferred mail is retried until accepted, and each attempt counts', async (t) => {
  const [post, server] = await Promise.all([openPost(t), openServer(t)]);
  const mail = post.node({ smtpUrl: server.url });
  server.refuseWith = 451;
  mail.start();
  await post.queue(mail);
  for (const attempts of [1, 2, 3]) {
    // While a worker holds it, its next attempt is minutes ahead.
    const soon = new Date(Date.now() + minuteMs);
    const row = await eventually(async () =>
      (await post.rows()).find((one) => one.attempts === attempts && one.next_attempt_at < soon),
    );
    t.regex(row.last_error ?? '', /451/);
    t.false(row.given_up);
    t.is(server.attempts, attempts, 'not before its time');
    await post.pass(2 * minuteMs);
    if (attempts === 3) server.refuseWith = undefined;
    mail.wake();
  }
  await eventually(async () => (await post.rows())[0]?.sent);
  t.is(server.taken.length, 1);
});

test('a mail that the server refuses permanently is given up and its content removed', async (t) => {
  const [post, server] = await Promise.all([openPost(t), openServer(t)]);
  const mail = post.node({ smtpUrl: server.url });
  server.refuseWith = 550;
  mail.start();
  await post.queue(mail);
  const row = await eventually(async () => (await post.rows()).find(({ given_up }) => given_up));
  t.like(row, { attempts: 1, sealed_content: null });
  t.regex(row.last_error ?? '', /550/);
  t.is(post.problems.length, 1);
});

test('a mail of a node whose clock is days behind is not given up sooner', async (t) => {
  const [post, server] = await Promise.all([openPost(t), openServer(t)]);
  server.refuseWith = 451;
  post.time.aheadMs = -4 * 86_400_000;
  const mail = post.node({ smtpUrl: server.url });
  mail.start();
  await post.queue(mail);
  const row = await eventually(async () => (await post.rows()).find(({ last_error }) => last_error !== null));
  t.false(row.given_up);
});

test('a mail that no server accepts for days is given up', async (t) => {
  const post = await openPost(t);
  const folder = await createMailFolder();
  t.teardown(folder.remove);
  const file = join(folder.path, 'no-folder');
  await writeFile(file, '');
  const mail = post.node({ outboxFolder: file });
  mail.start();
  await post.queue(mail);
  await eventually(async () => (await post.rows())[0]?.last_error !== null);
  t.false((await post.rows())[0]?.given_up);
  post.time.aheadMs += 73 * 60 * minuteMs;
  await post.pass(minuteMs);
  mail.wake();
  await eventually(async () => (await post.rows())[0]?.attempts === 2 && post.problems.length === 2);
  t.false((await post.rows())[0]?.given_up, 'only the clock of the node went on');
  await post.pass(73 * 60 * minuteMs);
  mail.wake();
  t.truthy(await eventually(async () => (await post.rows()).find(({ given_up }) => given_up)));
});

test('an accepted mail whose answer was lost is sent again under the same Message-ID', async (t) => {
  const [post, server] = await Promise.all([openPost(t), openServer(t)]);
  const proxy = await TcpProxy.before(server.url);
  t.teardown(() => proxy.close());
  let losses = 1;
  server.onTaken = () => {
    if (losses === 0) return;
    losses -= 1;
    proxy.cutsLeft = 1;
    proxy.mode = 'cut-at-answer';
  };
  const mail = post.node({ smtpUrl: proxy.url });
  mail.start();
  const id = await post.queue(mail);
  await eventually(async () => (await post.rows())[0]?.last_error);
  await post.pass(minuteMs);
  mail.wake();
  await eventually(async () => (await post.rows())[0]?.sent);
  t.is(server.taken.length, 2);
  for (const one of server.taken) t.true(one.includes(`Message-ID: <${id}@troupe.example.com>`));
});

test('a mail claimed by a dead node is sent by another after the claim ends', async (t) => {
  const [post, server] = await Promise.all([openPost(t), openServer(t)]);
  const dying = post.node({ smtpUrl: server.url });
  const id = await post.queue(dying);
  // The dead node's commit: it claimed the mail, and then died.
  await holdByAnother(post, id);
  const other = post.node({ smtpUrl: server.url });
  other.start();
  await post.queue(other, { to: 'later@example.com' });
  await eventually(async () => (await post.rows()).filter(({ sent }) => sent).length === 1);
  t.is(server.taken.length, 1, 'the held one is left alone meanwhile');
  await post.pass(4 * minuteMs);
  other.wake();
  await eventually(async () => (await post.rows()).every(({ sent }) => sent));
  t.is((await post.rows()).find((row) => row.id === id)?.attempts, 2);
});

test('a node whose clock is ahead leaves a mail alone that another node is sending', async (t) => {
  const [post, server] = await Promise.all([openPost(t), openServer(t)]);
  const node = post.node({ smtpUrl: server.url });
  await holdByAnother(post, await post.queue(node));
  post.time.aheadMs += 4 * minuteMs;
  node.start();
  await post.queue(node, { to: 'later@example.com' });
  await eventually(async () => (await post.rows()).some(({ sent }) => sent));
  t.deepEqual(
    (await post.rows()).map(({ sent, attempts }) => [sent, attempts]),
    [
      [false, 1],
      [true, 1],
    ],
  );
});

test('two nodes that write the same mail to one folder leave one whole file', async (t) => {
  const folder = await createMailFolder();
  t.teardown(folder.remove);
  const path = join(folder.path, 'outbox');
  const outbox = createOutboxFolder(path, systemPlatform.ids);
  const mail = {
    id: 'one',
    messageId: '<one@example.com>',
    from: 'a@example.com',
    to: 'b@example.com',
    subject: 'Hello',
    date: new Date(0),
  };
  const { signal } = new AbortController();
  await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      outbox.send({ ...mail, text: 'x'.repeat(1_000 * (index + 1)) }, signal),
    ),
  );
  t.deepEqual(await readdir(path), ['19700101T000000-one.eml']);
  t.deepEqual(await readdir(folder.path), ['outbox'], 'nothing unfinished is left beside it');
  await mkdir(join(path, '19700101T000000-two.eml'));
  await t.throwsAsync(outbox.send({ ...mail, id: 'two', text: 'x' }, signal), { name: 'MailError' });
  t.deepEqual(await readdir(folder.path), ['outbox'], 'nor after a failure');
});

test('many mails on two nodes are sent once each', async (t) => {
  const [post, server] = await Promise.all([openPost(t), openServer(t)]);
  const nodes = [post.node({ smtpUrl: server.url }), post.node({ smtpUrl: server.url })];
  for (const node of nodes) node.start();
  const ids = await Promise.all(
    Array.from({ length: 30 }, (_, index) => post.queue(nodes[index % 2] as Mail)),
  );
  await eventually(async () => (await post.rows()).every(({ sent }) => sent), { timeoutMs: 30_000 });
  const seen = server.taken.map((one) => /Message-ID: <([^@]+)@/.exec(one)?.[1] ?? '');
  t.deepEqual(
    seen.toSorted((a, b) => a.localeCompare(b)),
    ids.toSorted((a, b) => a.localeCompare(b)),
  );
});

test('waiting mails are sealed anew under a new master key', async (t) => {
  const [post, server] = await Promise.all([openPost(t), openServer(t)]);
  const newKey = randomBytes(32);
  await post.queue(post.node({ smtpUrl: server.url }));
  await post.node({ smtpUrl: server.url, key: newKey, formerKeys: [masterKey] }).reseal();
  const later = post.node({ smtpUrl: server.url, key: newKey });
  later.start();
  await eventually(async () => (await post.rows())[0]?.sent);
  t.is(server.taken.length, 1);
});
