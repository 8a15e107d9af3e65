import test from 'ava';
import fc from 'fast-check';
import { z } from 'zod';
import type { Operation } from '../../src/http/operations/index.js';
import { operatorToken, startTestNode } from '../support/servers/node.js';
import { anyText } from '../support/builders/any-text.js';

const runsPerOperation = Number(process.env['TROUPE_FUZZ_RUNS'] ?? 25);

/** Operations that answer for as long as the client listens. */
const endless = new Set(['realtime.events', 'sessions.changes', 'sessions.stream']);

test('no input makes an operation fail, hang or break its envelope', async (t) => {
  const node = await startTestNode(t);
  const { api_key: key, access_token: token, tenant_id: tenant } = node.bootstrap;
  const credentials = [{ key }, { token, tenant }, { token: operatorToken }];
  let calls = 0;
  for (const operation of node.node.table.operations) {
    if (endless.has(operation.name)) continue;
    await fc.assert(
      fc.asyncProperty(inputOf(operation), fc.constantFrom(...credentials), async (input, credential) => {
        if ((calls += 1) % 50 === 0) node.passMs(61_000);
        const result = await node.client.call(operation.method, input.path, { ...credential, ...input.rest });
        if (result.status >= 500 && !mayFail(operation, result.json?.error))
          throw new Error(`${result.status} ${result.text}`);
      }),
      { numRuns: runsPerOperation, endOnFailure: true },
    );
  }
  t.true(calls >= runsPerOperation * 10);
});

/** Overload, and an operation's declared errors of other servers: an invented host may be looked up. */
function mayFail(operation: Operation, code: unknown): boolean {
  return code === 'service_unavailable' || (code === 'provider_error' && operation.errors.includes(code));
}

const hostileText = fc.oneof(
  anyText({ maxLength: 40 }),
  fc.constantFrom(
    '',
    '\0',
    '\u{d800}',
    '__proto__',
    '../../etc',
    "'; drop table users; --",
    '%00',
    '1e999',
    'null',
    '2026-13-45',
  ),
  fc.uuid(),
  fc.emailAddress(),
);
const hostileValue = fc.oneof(
  { weight: 3, arbitrary: hostileText },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  fc.constantFrom(0, -1, 1e308, 2 ** 53, true, null, [], {}),
);

/** A path, query and body close to the operation's declaration, with anything in each place. */
function inputOf(operation: Operation) {
  const segments = operation.path
    .split('/')
    .map((segment) =>
      segment.startsWith(':') ? fc.oneof(fc.uuid(), hostileText.map(encoded)) : fc.constant(segment),
    );
  const path = fc.tuple(...segments).map((parts) => parts.join('/'));
  const query = fc.dictionary(fieldOf(operation.query), hostileText, { maxKeys: 4 });
  const body = operation.body === undefined ? fc.constant(undefined) : bodyOf(operation);
  return fc.tuple(path, query, body).map(([place, search, content]) => ({
    path: Object.keys(search).length === 0 ? place : `${place}?${new URLSearchParams(search).toString()}`,
    rest: content === undefined ? {} : { body: content },
  }));
}

function bodyOf(operation: Operation): fc.Arbitrary<unknown> {
  const object = fc.dictionary(fieldOf(operation.body), hostileValue, { maxKeys: 8 });
  return fc.oneof(
    { weight: 6, arbitrary: object },
    fc.json(),
    fc.string({ maxLength: 50 }),
    fc.uint8Array({ minLength: 1, maxLength: 50 }),
  );
}

/** Names that the schema knows, some that it does not, and the ones that reach a prototype. */
function fieldOf(schema: z.ZodType | undefined): fc.Arbitrary<string> {
  const known =
    schema === undefined
      ? []
      : Object.keys(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }).properties ?? {});
  return fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(...(known.length === 0 ? ['x'] : known)) },
    fc.constantFrom('__proto__', 'constructor', 'x', ''),
  );
}

/** A segment of one or two dots is not sent: the client resolves it, to the address of another operation. */
function encoded(text: string): string {
  const safe = text.isWellFormed() ? text : 'half';
  return /^\.{0,2}$/.test(safe) ? `-${safe}` : encodeURIComponent(safe);
}
