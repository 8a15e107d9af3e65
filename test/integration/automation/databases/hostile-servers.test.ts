// Hostile servers that tenants name: they answer nonsense, never, or without end, and nothing else on the node slows.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import { systemTime } from '../../../../cluster/index.js';
import { limitMs } from '../../../../src/automation/databases/connection/database-connection.js';
import { systemLookup } from '../../../../src/infra/egress/index.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { databaseOfFile } from '../../../support/database/database.js';
import {
  type DatabasesBench,
  type Person,
  startDatabases,
  startShop,
  startTalker,
} from '../../../support/servers/databases.js';
import { startNameServer } from '../../../support/servers/name-server.js';

const database = databaseOfFile(test);
const certificate = readFileSync('test/fixtures/tls/good.test.certificate.pem', 'utf8');
const key = readFileSync('test/fixtures/tls/good.test.key.pem', 'utf8');
let bench: DatabasesBench;
/** Where the time of an answer lasts until `endTime`: for servers that keep silent. */
let held: DatabasesBench;
const limits = new Set<() => void>();
/** How often a server has said all that it will say. */
let silences = 0;
const fallSilent = (): void => void (silences += 1);
let names: Awaited<ReturnType<typeof startNameServer>>;

test.serial.before(async () => {
  names = await startNameServer(
    new Map([
      ['good.test', [['127.0.0.1']]],
      ['bad.test', [['127.0.0.1']]],
      ['inner.test', [['127.0.0.2']]],
    ]),
  );
  database.atEnd(() => names.close());
  const egress = { lookup: systemLookup([names.address]), authorities: [certificate] };
  bench = await startDatabases(database, { egress });
  held = await startDatabases(database, {
    egress,
    after: (delayMs, action) => {
      if (delayMs !== limitMs) return systemTime.after(delayMs, action);
      limits.add(action);
      return { cancel: () => void limits.delete(action) };
    },
  });
});

/** Ends the time of all that is under way, once a server has fallen silent. */
async function endTime(isSilent: () => boolean | Promise<boolean>): Promise<void> {
  await eventually(isSilent, { what: 'a silent server' });
  for (const end of limits) end();
}

function message(kind: string, ...parts: readonly (string | number | Buffer)[]): Buffer {
  const body = Buffer.concat(
    parts.map((part) => {
      if (typeof part === 'string') return Buffer.from(part, 'latin1');
      if (typeof part !== 'number') return part;
      const bytes = Buffer.alloc(4);
      bytes.writeUInt32BE(part >>> 0);
      return bytes;
    }),
  );
  const head = Buffer.alloc(5);
  head.write(kind, 0, 'latin1');
  head.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

const welcome = Buffer.concat([message('R', 0), message('K', 1, 2), message('Z', 'I')]);
const oneColumn = message('T', '\0\u0001', 'n\0', 0, '\0\0', 25, '\xff\xff', 0, '\0\0');
const manyColumns = message(
  'T',
  '\x7f\xff',
  Buffer.concat(Array.from({ length: 0x7fff }, () => Buffer.concat([Buffer.from('n\0'), Buffer.alloc(18)]))),
);

/** Writes until the reader disconnects. */
function forEver(socket: Socket, bytes: Buffer): void {
  const chunk = Buffer.concat(Array.from({ length: Math.ceil(32_768 / bytes.length) }, () => bytes));
  const on = (): void => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on('drain', on);
  on();
}

/** Accepts any sign-in, then answers the first query. */
function afterWelcome(answer: (socket: Socket) => void): (socket: Socket) => void {
  return (socket) => {
    socket.once('data', () => {
      socket.write(welcome);
      socket.once('data', () => answer(socket));
    });
  };
}

const place = { host: '127.0.0.1', database: 'd', username: 'u', password: 'open sesame', ssl: false };

async function asked(person: Person, fields: object) {
  const answer = await person.call('POST', '/api/db/test-postgres', { ...place, ...fields });
  return { ...answer, reason: String(answer.body.details?.original_error) };
}

const nonsense = /does not speak the protocol/;
const tooMuch = /more (?:bytes|rows|messages) than may be read/;
const never = /no whole answer within 10 seconds/;

const hostile: Readonly<Record<string, readonly [(socket: Socket) => void, RegExp]>> = {
  'never says a word': [fallSilent, never],
  'is a web server': [(socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'), nonsense],
  'sends random bytes': [(socket) => forEver(socket, Buffer.from('\x01\0\0\0\x07random')), nonsense],
  'leaves at once': [(socket) => socket.destroy(), /Connection terminated|ECONNRESET|closed at once/],
  'leaves in the middle of a word': [(socket) => socket.end(welcome.subarray(0, 7)), /Connection terminated/],
  'announces a message of four gigabytes': [
    (socket) => socket.write(Buffer.from([0x53, 0xff, 0xff, 0xff, 0xff])),
    tooMuch,
  ],
  'announces a message shorter than its own head': [
    (socket) => forEver(socket, Buffer.from([0x53, 0, 0, 0, 0])),
    nonsense,
  ],
  'sends an error that never ends': [(socket) => socket.write(message('E', 'SFATAL')), nonsense],
  'sends a notice that never ends': [(socket) => socket.write(message('N', 'SWARNING\0Mtext')), nonsense],
  'sends notices for ever': [(socket) => forEver(socket, message('N', 'SWARNING\0Mhello\0\0')), tooMuch],
  'reports settings for ever': [(socket) => forEver(socket, message('S', 'name\0value\0')), tooMuch],
  'asks for the password for ever': [(socket) => forEver(socket, message('R', 3)), nonsense],
  'begins a costly sign-in again and again': [
    (socket) =>
      socket.once('data', () => {
        socket.write(message('R', 10, 'SCRAM-SHA-256\0\0'));
        socket.once('data', (first) => {
          const nonce = /r=([^,]+)$/.exec(first.toString('latin1'))?.[1] ?? '';
          forEver(socket, message('R', 11, `r=${nonce}more,s=c2FsdA==,i=100000`));
        });
      }),
    nonsense,
  ],
  'asks for a sign-in of endless rounds': [
    (socket) =>
      socket.once('data', () => {
        socket.write(message('R', 10, 'SCRAM-SHA-256\0\0'));
        socket.once('data', (first) => {
          const nonce = /r=([^,]+)$/.exec(first.toString('latin1'))?.[1] ?? '';
          socket.write(message('R', 11, `r=${nonce}more,s=c2FsdA==,i=2147483647`));
        });
      }),
    /iteration count/,
  ],
  'asks for a ticket': [(socket) => socket.write(message('R', 7)), /kind of sign-in/],
  'welcomes and falls silent': [afterWelcome(fallSilent), never],
  'answers with rows for ever': [
    afterWelcome((socket) => {
      socket.write(oneColumn);
      forEver(socket, message('D', '\0\u0001', 1, 'x'));
    }),
    tooMuch,
  ],
  'answers with rows that nobody announced': [
    afterWelcome((socket) => forEver(socket, message('D', '\x7f\xff'))),
    nonsense,
  ],
  'announces more columns than there can be': [
    afterWelcome((socket) => {
      socket.write(manyColumns);
    }),
    nonsense,
  ],
  'wants to copy': [afterWelcome((socket) => forEver(socket, message('G', '\0\0\0'))), nonsense],
  'says that there is more, for ever': [afterWelcome((socket) => forEver(socket, message('s'))), nonsense],
  'repeats the password in its error': [
    (socket) =>
      socket.once('data', () => {
        socket.write(message('R', 3));
        socket.once('data', () => socket.write(message('E', 'C28P01\0M\u0001you said open sesame\0\0')));
      }),
    /you said \[secret\] \(28P01\)/,
  ],
};

for (const [what, [talk, reason]] of Object.entries(hostile)) {
  test.serial(`a server that ${what} is given up with a reason, and the node continues`, async (t) => {
    const { port } = await startTalker(t, talk);
    const node = reason === never ? held : bench;
    const before = silences;
    const person = node.person(await node.newTenant(), 'owner');
    const startedAt = performance.now();
    const [answer, other] = await Promise.all([
      asked(person, { port }),
      person.call('GET', '/api/database-configs'),
      reason === never && endTime(() => silences > before),
    ]);
    t.is(answer.status, 502, answer.text);
    t.regex(answer.reason, reason);
    t.false(answer.text.includes('sesame'));
    t.is(other.status, 200);
    t.true(performance.now() - startedAt < 30_000);
  });
}

test.serial('a statement that takes too long is given up and ended at the server', async (t) => {
  const shop = await startShop(t);
  await shop.client.query('create view slow as select pg_sleep(60)::text as slept');
  const scope = await held.newTenant();
  const person = held.person(scope, 'owner');
  const made = await person.call('POST', '/api/database-configs', {
    name: 'shop',
    connection_config: shop.place,
  });
  const reader = await held.databases.connect(scope, made.body.data.id);
  t.teardown(() => reader.close());
  const asleep = async (): Promise<boolean> => {
    const { rows } = await shop.client.query(
      "select 1 from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'",
    );
    return rows.length > 0;
  };
  const selected = t.throwsAsync(reader.select('select * from slow', [], { rowsMax: 1 }), { message: never });
  await endTime(asleep);
  await selected;
  await reader.closed;
});

test.serial('a tenant holds a bounded number of connections, and closed ones are free again', async (t) => {
  const held: Socket[] = [];
  let holds = true;
  const { port } = await startTalker(t, (socket) => void (holds ? held.push(socket) : socket.destroy()));
  const person = bench.person(await bench.newTenant(), 'owner');
  const other = bench.person(await bench.newTenant(), 'owner');
  const statuses: number[] = [];
  const ask = async (who: Person): Promise<number> => {
    const { status } = await asked(who, { port });
    statuses.push(status);
    return status;
  };
  const all = Promise.all([...Array.from({ length: 12 }, () => ask(person)), ask(other)]);
  // The server is silent until nobody else comes.
  await eventually(() => statuses.length + held.length >= 13);
  t.deepEqual(statuses, [503, 503, 503, 503]);
  holds = false;
  for (const socket of held) socket.destroy();
  t.is((await all).at(-1), 502, 'another tenant is not held up');
  t.is(await ask(person), 502);
});

/** The real database behind a server that speaks TLS, as PostgreSQL begins it. */
async function startTls(t: ExecutionContext, target: number, granted = Buffer.from('S')) {
  return startTalker(t, (socket) => {
    socket.once('data', () => {
      socket.pause();
      socket.write(granted);
      const secure = new TLSSocket(socket, { isServer: true, key, cert: certificate });
      const upstream = connect(target, '127.0.0.1');
      for (const end of [secure, upstream]) end.on('error', () => undefined);
      secure.pipe(upstream).pipe(secure);
      secure.on('close', () => upstream.destroy());
      upstream.on('close', () => secure.destroy());
    });
  });
}

test.serial('with ssl the connection uses TLS with a certificate for the host', async (t) => {
  const { place: shop } = await startShop(t);
  const person = bench.person(await bench.newTenant(), 'owner');
  const { port } = await startTls(t, shop.port);
  const secured = { ...shop, port, ssl: true };
  const good = await asked(person, { ...secured, host: 'good.test' });
  t.is(good.status, 200, good.text);
  t.true(good.body.tested_table_accessible);
  for (const host of ['bad.test', '127.0.0.1']) {
    const refused = await asked(person, { ...secured, host });
    t.is(refused.status, 502);
    t.regex(refused.reason, /TLS with .* failed \(ERR_TLS_CERT_ALTNAME_INVALID\)/);
  }
  const early = await startTls(t, shop.port, Buffer.from('Searly words'));
  const smuggled = await asked(person, { ...secured, port: early.port, host: 'good.test' });
  t.regex(smuggled.reason, /does not offer TLS/);
});

test.serial('a server that accepts TLS and then falls silent is given up', async (t) => {
  const { port } = await startTalker(t, (socket) => {
    socket.once('data', () => {
      socket.write('S');
      socket.once('data', fallSilent);
    });
  });
  const person = held.person(await held.newTenant(), 'owner');
  const before = silences;
  const [answer] = await Promise.all([
    asked(person, { port, ssl: true, host: 'good.test' }),
    endTime(() => silences > before),
  ]);
  t.is(answer.status, 502);
  t.regex(answer.reason, never);
});

test.serial(
  'a name that resolves to a forbidden address is not connected to, and the address is not shown',
  async (t) => {
    const reached: unknown[] = [];
    const { server } = await startTalker(t, () => undefined);
    server.on('connection', (socket) => reached.push(socket));
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('it listens on TCP');
    const person = bench.person(await bench.newTenant(), 'owner');
    const answer = await asked(person, { port: address.port, host: 'inner.test' });
    t.is(answer.status, 502);
    t.regex(answer.reason, /inner\.test points to an address that lies in a loopback range/);
    t.false(answer.text.includes('127.0.0.2'));
    t.deepEqual(reached, []);
  },
);

test.serial('a stopping node ends its running reads', async (t) => {
  const own = await startDatabases(database);
  const { port, server } = await startTalker(t, () => undefined);
  const person = own.person(await own.newTenant(), 'owner');
  const connected = once(server, 'connection');
  const answer = asked(person, { port });
  await connected;
  await own.databases.close();
  t.regex((await answer).reason, /nobody waits for it any more/);
});
