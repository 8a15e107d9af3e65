// Database configurations behind a real HTTP edge, on a real database.
import { randomBytes } from 'node:crypto';
import { type Server, type Socket, createServer } from 'node:net';
import { once } from 'node:events';
import pg from 'pg';
import type { ExecutionContext } from 'ava';
import { systemPlatform } from '../../../src/infra/platform/index.js';
import { systemTime, type Time } from '../../../cluster/index.js';
import type { Role, TenantCaller } from '../../../src/kernel/caller.js';
import type { TenantScope } from '../../../src/kernel/tenant-scope.js';
import { createDatabases, type Databases } from '../../../src/automation/databases/index.js';
import { createEgress, type EgressParts } from '../../../src/infra/egress/index.js';
import { openStore, type Store } from '../../../src/infra/storage/index.js';
import { createVault } from '../../../src/tenancy/vault/index.js';
import { insertTenant, userOf } from '../builders/callers.js';
import { createEmptyDatabase, type FileDatabase } from '../database/database.js';
import { knowing, startEdge } from './edge.js';

export interface Reply {
  readonly status: number;
  readonly text: string;
  /** Tests look into bodies freely. */
  readonly body: ReturnType<typeof JSON.parse>;
}

export interface Person {
  call(method: string, path: string, body?: unknown): Promise<Reply>;
}

export interface DatabasesBench {
  readonly store: Store;
  readonly databases: Databases;
  readonly newTenant: () => Promise<TenantScope>;
  readonly person: (scope: TenantScope, role: Role) => Person;
  /** Lets hours pass. */
  readonly passMs: (milliseconds: number) => void;
}

export interface BenchOptions {
  readonly egress?: Partial<EgressParts>;
  /** The timers of the subject. */
  readonly after?: Time['after'];
}

/** Two benches on one database are two nodes of one installation. */
const masterKey = randomBytes(32);

export async function startDatabases(
  database: FileDatabase,
  { egress: egressParts = {}, after = (...timer) => systemTime.after(...timer) }: BenchOptions = {},
): Promise<DatabasesBench> {
  let aheadMs = 0;
  const time: Time = {
    ...systemTime,
    wallMs: () => systemTime.wallMs() + aheadMs,
    after,
  };
  const store = await openStore({ databaseUrl: database.url });
  const vault = createVault({ ...systemPlatform, store }, { masterKey, providers: () => [] });
  await vault.prepare();
  const egress = createEgress({ allow: ['127.0.0.1/32'], ...egressParts });
  const databases = createDatabases({ ...systemPlatform, store, time }, { vault, egress });
  const callers = new Map<string, TenantCaller>();
  const edge = await startEdge([...databases.operations, ...vault.operations], {
    authenticator: knowing(callers),
  });
  database.atEnd(async () => {
    await edge.close();
    await databases.close();
    await egress.close();
    await store.close();
  });
  return {
    store,
    databases,
    newTenant: () => insertTenant(store),
    person(scope, role) {
      const caller = userOf(scope, { role });
      callers.set(caller.userId, caller);
      return { call: (method, path, body) => call(edge.url, caller.userId, method, path, body) };
    },
    passMs: (milliseconds) => {
      aheadMs += milliseconds;
    },
  };
}

async function call(url: string, token: string, method: string, path: string, body: unknown): Promise<Reply> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, text, body: JSON.parse(text) };
}

/** How a body names the database behind the address. */
export function placeOf(databaseUrl: string) {
  const url = new URL(databaseUrl);
  return {
    host: '127.0.0.1',
    port: Number(url.port === '' ? 5432 : url.port),
    database: url.pathname.slice(1),
    username: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password) || 'none is asked for',
    ssl: false,
  };
}

/** A tenant's database with two schemas: tables, a view, a partitioned table; the statistics are up to date. */
export async function startShop(t: { teardown(fn: () => Promise<void>): void }) {
  const { url } = await createEmptyDatabase(t);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  t.teardown(() => client.end());
  await client.query(`
    create table public.orders (id bigint primary key, placed_at timestamptz not null, note varchar(20));
    insert into public.orders select n, '2026-01-01T10:00:00.123456Z', 'order ' || n from generate_series(1, 250) n;
    create view public.open_orders as select id from public.orders;
    create schema stock;
    create table stock.items (name text not null, price numeric(10,2));
    insert into stock.items values ('nail', 0.02), ('screw', null);
    create table stock.moves (id int, at date) partition by range (at);
    create table stock.moves_2026 partition of stock.moves for values from ('2026-01-01') to ('2027-01-01');
    insert into stock.moves select n, '2026-05-01' from generate_series(1, 40) n;
    analyze`);
  return { url, client, place: placeOf(url) };
}

/** A server that sends the test's bytes to every client. */
export async function startTalker(
  t: ExecutionContext,
  talk: (socket: Socket) => void,
): Promise<{ readonly port: number; readonly server: Server }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    // The client disconnects when it has read enough.
    socket.on('error', () => undefined);
    talk(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('it listens on TCP');
  return { port: address.port, server };
}
