import { Validator } from '@seriousme/openapi-schema-validator';
import test from 'ava';
import { errorKinds } from '../../src/kernel/errors.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

test('the OpenAPI 3.1 document is valid and covers every operation with its answers and errors', async (t) => {
  const { client, node } = await shared.tenant(t);
  const { json: document } = await client.call('GET', '/openapi.json');
  const result = await new Validator().validate(document);
  t.deepEqual(result.errors, undefined);
  t.true(result.valid);
  t.is(document.openapi, '3.1.0');
  for (const operation of node.table.operations) {
    const path = operation.path.replaceAll(/:([^/]+)/g, '{$1}');
    const described = document.paths[path]?.[operation.method.toLowerCase()];
    t.is(described?.operationId, operation.name);
    t.truthy(described.responses[String(operation.status)], `${operation.name} describes its answer`);
    t.is(described.security.length > 0, operation.access.credentials.size > 0 || operation.access.anonymous);
    for (const code of operation.errors) {
      t.truthy(described.responses[String(errorKinds[code].status)], `${operation.name} describes ${code}`);
    }
  }
  const operations = Object.values(document.paths as Record<string, object>).flatMap((path) =>
    Object.keys(path),
  );
  t.is(operations.length, node.table.operations.length);
});

test('the documentation page names every operation and loads no outside resource', async (t) => {
  const { client, node } = await shared.tenant(t);
  const { text, headers } = await client.call('GET', '/docs');
  t.is(headers.get('content-type'), 'text/html; charset=utf-8');
  for (const { path } of node.table.operations) t.true(text.includes(path), path);
  t.notRegex(text, /<(?:script|link|img)\b/);
});
