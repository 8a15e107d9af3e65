// Every operation of the table with the id of another tenant's thing: it answers as if the thing did not exist, and every
// list leaves it out. An operation that names a kind of thing which is not planted fails the test.
import { randomBytes, randomUUID } from 'node:crypto';
import test from 'ava';
import { type Operation, spelled } from '../../src/http/operations/index.js';
import { plantThings } from '../support/builders/planted-things.js';
import type { CallOptions, CallResult } from '../support/clients/client.js';
import { ownerView } from '../support/database/owner-view.js';
import { startTestNode, type TenantNode } from '../support/servers/node.js';
import { tenantOf } from '../support/servers/shared-node.js';

/** Parameters that name nothing of a tenant. */
const namesNoThing: Readonly<Record<string, string>> = {
  models: 'the models are the same for all tenants',
  exports: 'a kind of export',
};

/** Operations that take the key of a consumer whom nobody knows. */
const takesUnknownKeys = new Set([
  'consumers.deny',
  'consumers.allow',
  'consumers.forget',
  'consumers.memory',
]);

/** Operations whose answer is no text that ends. */
const isNoAnswer: Readonly<Record<string, string>> = {
  'realtime.socket': 'a WebSocket; test/e2e/realtime.test.ts',
  'realtime.events': 'a stream of events; test/e2e/realtime.test.ts',
  'sessions.changes': 'a stream of changes; test/e2e/session-changes.test.ts',
};

/** Valid bodies, where `{}` is none: a refusal of the body would hide that of the thing. */
const bodies: Readonly<Record<string, object>> = {
  'members.update': { role: 'member' },
  'keys.change_rate': { rateLimitPerMinute: 5 },
  'secrets.set-value': { value: 'a new value' },
  'agent-schemas.create': {
    name: 'tool',
    type: 'api',
    editor_schema: { api: { url: 'https://example.com/' } },
  },
  'agents.stream': { message: 'hello' },
  'approvals.decide': { decision: 'approve' },
  'sessions.suspend': { reason: 'a reason' },
  'sessions.handoff': { reason: 'a reason' },
  'sessions.manual-message': { message: 'hello' },
};

const queries: Readonly<Record<string, string>> = {
  'agent-versions.compare': 'from=1',
  'telemetry.metrics': 'start_date=2020-01-01T00:00:00Z&end_date=2099-01-01T00:00:00Z',
};

/** Requests of the own tenant that name a thing of the other one in the body or the query. */
const references: readonly (readonly [string, string, string, (id: string) => object])[] = [
  ['POST', '/api/sessions', 'agents', (id) => ({ agent_id: id })],
  [
    'POST',
    '/api/triggers',
    'agents',
    (id) => ({ agent_id: id, name: 't', trigger_type: 'webhook', trigger_config: {} }),
  ],
];
const filters: readonly (readonly [string, string])[] = [
  ['/api/v1/sessions?agent_id=', 'agents'],
  ['/api/v1/sessions?consumer_key=', 'consumers'],
  ['/api/v1/sessions?search=', 'consumers'],
  ['/api/v1/executions?session_id=', 'sessions'],
  ['/api/v1/executions?agent_id=', 'agents'],
  ['/api/v1/executions?trace_id=', 'consumers'],
  ['/api/v1/consumers?search=', 'consumers'],
  ['/api/v1/errors?agent_id=', 'agents'],
  ['/api/v1/audit?target=', 'agents'],
  ['/api/v1/audit?actor=', 'members'],
];

const tables =
  `agents agent_schemas agent_versions secrets triggers sessions messages executions approvals attachments
  api_keys invites memberships mail_domains database_configs deliveries stored_responses consumers`.split(
    /\s+/,
  );

test.serial('operations and lists show nothing of another tenant, and change nothing there', async (t) => {
  t.timeout(300_000);
  const node = await startTestNode(t, { environment: { TROUPE_TRUSTED_PROXIES: '127.0.0.0/8' } });
  const word = `planted${randomBytes(8).toString('hex')}`;
  const [own, other] = [await tenantOf(node, 'own'), await tenantOf(node, word)];
  const theirs = await plantThings(other, word);
  const mine = await plantThings(own, `own${randomBytes(8).toString('hex')}`);
  const rowsOfOther = async (): Promise<string> => {
    const owner = await ownerView(node.databaseUrl);
    const texts: string[] = [];
    for (const table of tables) {
      const { rows } = await owner.query<{ text: string }>(
        `select coalesce(md5(string_agg(t::text, '|' order by t::text)), '') as text from ${table} t where tenant_id = $1`,
        [other.bootstrap.tenant_id],
      );
      texts.push(`${table} ${rows[0]?.text}`);
    }
    await owner.end();
    return texts.join('\n');
  };
  const before = await rowsOfOther();
  const secrets = [word, other.bootstrap.tenant_id, ...Object.values(theirs).filter((id) => id.length > 10)];
  const wrong: string[] = [];
  const shows = (what: string, { text }: CallResult, asked: readonly string[] = []): void => {
    const rest = asked.reduce((left, id) => left.replaceAll(id, ''), text);
    for (const secret of secrets) if (rest.includes(secret)) wrong.push(`${what} shows ${secret}`);
  };

  let asked = 0;
  for (const operation of node.node.table.operations) {
    const { access, name, method } = operation;
    if (access.tenant.from === 'none' || access.credentials.size === 0) continue;
    if (name in isNoAnswer) continue;
    const parameters = thingsOf(operation);
    const unknown = parameters.filter(({ kind }) => !(kind in theirs) && !(kind in namesNoThing));
    if (unknown.length > 0) {
      wrong.push(
        `${name} names ${unknown[0]?.kind}, which test/support/builders/planted-things.ts does not plant`,
      );
      continue;
    }
    const named = parameters.filter(({ kind }) => kind in theirs);
    for (const credential of credentialsOf(own, operation)) {
      node.passMs(1_000);
      if (named.length === 0) {
        if (method !== 'GET') continue;
        for (const path of kindsOf(operation, ownPath(operation, own))) {
          const answer = await own.client.call('GET', withQuery(operation, path), credential);
          if (answer.status >= 300) wrong.push(`${name}: ${answer.status} ${answer.text.slice(0, 200)}`);
          shows(name, answer);
          asked += 1;
        }
        continue;
      }
      // The last thing is the other tenant's; those before it are the other's too, or the own ones.
      for (const parents of named.length > 1 ? [theirs, mine] : [theirs]) {
        if (takesUnknownKeys.has(name)) continue;
        const pathWith = (last: string): string =>
          withQuery(
            operation,
            named.reduce(
              (path, { parameter, kind }, index) =>
                path.replace(`:${parameter}`, index === named.length - 1 ? last : (parents[kind] ?? '')),
              ownPath(operation, own),
            ),
          );
        const { kind = '' } = named.at(-1) ?? {};
        // The numbers of versions are the same in all tenants.
        if (kind === 'versions' && parents === mine) continue;
        const id = theirs[kind] ?? '';
        const absent = kind === 'versions' ? id : strangeIdLike(id);
        const call = (path: string): Promise<CallResult> =>
          own.client.call(method, path, {
            ...credential,
            ...(method === 'GET' || method === 'DELETE' ? {} : { body: bodies[name] ?? {} }),
          });
        const foreign = await call(pathWith(id));
        const missing = await call(pathWith(absent));
        asked += 1;
        const codes = ['not_found', 'agent_not_found'] as const;
        const code = codeOf(foreign);
        if (foreign.status !== 404 || !codes.some((one) => spelled(one, operation.dialect) === code))
          wrong.push(
            `${name}: ${foreign.status} ${code} for a thing of another tenant: ${foreign.text.slice(0, 300)}`,
          );
        if (plain(foreign.text, id) !== plain(missing.text, absent))
          wrong.push(`${name} tells a thing of another tenant from none: ${foreign.text} ${missing.text}`);
        shows(name, foreign, [id, ...named.map(({ kind: one }) => theirs[one] ?? '')]);
      }
    }
  }
  for (const [method, path, kind, body] of references) {
    const id = theirs[kind] ?? '';
    const credential = { token: own.bootstrap.access_token, tenant: own.bootstrap.tenant_id };
    const answer = await own.client.call(method, path, { ...credential, body: body(id) });
    if (answer.status !== 404) wrong.push(`${method} ${path}: ${answer.status} ${answer.text}`);
    shows(`${method} ${path}`, answer, [id]);
  }
  for (const [path, kind] of filters) {
    const id = theirs[kind] ?? '';
    const answer = await own.client.call('GET', path + id, { key: own.bootstrap.api_key });
    if (answer.status !== 200 || answer.json.data.length > 0) wrong.push(`${path}: ${answer.text}`);
  }
  t.deepEqual(wrong, []);
  t.true(asked > 120, `${asked} requests`);
  t.is(await rowsOfOther(), before);
});

interface NamedThing {
  readonly parameter: string;
  readonly kind: string;
}

/** The parameters of the path, without that of the tenant. */
function thingsOf({ path, access }: Operation): NamedThing[] {
  const segments = path.split('/');
  return segments.flatMap((segment, index) => {
    if (!segment.startsWith(':')) return [];
    const parameter = segment.slice(1);
    if (access.tenant.from === 'path' && access.tenant.parameter === parameter) return [];
    return [{ parameter, kind: segments[index - 1] ?? '' }];
  });
}

/** The path in the own tenant; the paths of a list with every kind. */
function ownPath({ path, access }: Operation, own: TenantNode): string {
  return access.tenant.from === 'path'
    ? path.replace(`:${access.tenant.parameter}`, own.bootstrap.tenant_id)
    : path;
}

function kindsOf({ name }: Operation, path: string): string[] {
  if (name === 'exports.read')
    return ['usage', 'calls', 'sessions', 'messages', 'executions', 'audit'].map((kind) =>
      path.replace(':kind', kind),
    );
  if (name === 'compat.model') return [path.replace(':model', 'sim.echo')];
  return [path];
}

function withQuery({ name }: Operation, path: string): string {
  const query = queries[name];
  return query === undefined ? path : `${path}?${query}`;
}

function credentialsOf({ bootstrap }: TenantNode, { access }: Operation): CallOptions[] {
  const { credentials } = access;
  return [
    ...(credentials.has('user') ? [{ token: bootstrap.access_token, tenant: bootstrap.tenant_id }] : []),
    ...(credentials.has('key') ? [{ key: bootstrap.api_key }] : []),
  ];
}

function strangeIdLike(id: string): string {
  if (id.startsWith('resp_')) return `resp_${randomBytes(16).toString('hex')}`;
  return /^[0-9a-f-]{36}$/.test(id) ? randomUUID() : `nobody${randomBytes(8).toString('hex')}`;
}

/** Without what differs in every answer. */
function plain(text: string, id: string): string {
  return text.replaceAll(id, 'ID').replaceAll(/"request_id":"[^"]*"/g, '');
}

function codeOf({ json }: CallResult): string | undefined {
  return typeof json?.error === 'object' ? json.error.code : json?.error;
}
