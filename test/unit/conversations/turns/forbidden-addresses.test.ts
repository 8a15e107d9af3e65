// Addresses that no tool may reach, written in all the ways in which addresses are written.
import { createServer } from 'node:net';
import test from 'ava';
import type { SnapshotSchema } from '../../../../src/agents/index.js';
import { ToolError } from '../../../../src/agents/index.js';
import { createEgress } from '../../../../src/infra/egress/index.js';
import { createExpressions } from '../../../../src/infra/expressions/index.js';
import { SchemaTools } from '../../../../src/agents/tools/schema-tools.js';
import { systemTime } from '../../../../cluster/index.js';
import { tenantScope } from '../../../../src/kernel/tenant-scope.js';
import { forbiddenHosts } from '../../../support/builders/forbidden-hosts.js';
import { answerJson, startToolServer } from '../../../support/servers/tool-servers.js';
import { agentOf } from '../../../support/builders/turns.js';

const nothingStored = {
  find: () => Promise.resolve(undefined),
  resolve: () => Promise.reject(new Error('no tool here names a secret')),
};

/** No call here gets an answer to select from. */
const noSandbox = { run: () => Promise.reject(new Error('nothing is evaluated here')) };

function toolsOver(egress: ReturnType<typeof createEgress>): SchemaTools {
  const expressions = createExpressions(noSandbox);
  return new SchemaTools({ vault: nothingStored, egress, expressions, time: systemTime });
}

function schemasAt(url: string): readonly SnapshotSchema[] {
  // As a version could hold them that was made before the rules forbade the address.
  const { schemas } = agentOf({
    schemas: [
      {
        name: 'http',
        type: 'api',
        editor_schema: { api: { url: 'http://example.com/', timeout_ms: 5_000 } },
      },
      {
        name: 'server',
        type: 'mcp',
        editor_schema: { mcp: { url: 'http://example.com/', call_timeout_ms: 5_000 } },
      },
    ],
  }).snapshot;
  return schemas.map((schema) => {
    if (schema.type === 'api')
      return { ...schema, editor_schema: { api: { ...schema.editor_schema.api, url } } };
    if (schema.type === 'mcp')
      return { ...schema, editor_schema: { mcp: { ...schema.editor_schema.mcp, url } } };
    return schema;
  });
}

function callOf(tools: SchemaTools, schema: SnapshotSchema) {
  return tools.call({
    scope: tenantScope('00000000-0000-4000-8000-000000000001'),
    schema,
    approved: null,
    tool: 'echo',
    args: {},
    context: {},
    strict: false,
    signal: new AbortController().signal,
  });
}

test('HTTP tools and MCP servers refuse every form of a forbidden address', async (t) => {
  t.true(forbiddenHosts.length >= 40);
  const egress = createEgress({
    allow: [],
    lookup: (host) => Promise.reject(new Error(`${host} was looked up`)),
  });
  const tools = toolsOver(egress);
  for (const host of forbiddenHosts) {
    for (const schema of schemasAt(`http://${host}:8443/x`)) {
      const error = await t.throwsAsync(
        callOf(tools, schema),
        { instanceOf: ToolError },
        `${schema.type} ${host}`,
      );
      t.like(error, { failure: 'forbidden-address', mayHaveArrived: false }, `${schema.type} ${host}`);
    }
  }
  await egress.close();
});

test('a name that leads to a forbidden address is refused on call, however it resolves', async (t) => {
  let connections = 0;
  const listener = createServer(() => void (connections += 1));
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  t.teardown(() => void listener.close());
  const address = listener.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  for (const addresses of [['127.0.0.1'], ['10.0.0.1', '127.0.0.1'], ['::1'], ['::ffff:127.0.0.1']]) {
    const egress = createEgress({
      allow: [],
      lookup: () => Promise.resolve(addresses),
    });
    for (const schema of schemasAt(`http://innocent.example.com:${port}/`)) {
      const error = await t.throwsAsync(callOf(toolsOver(egress), schema), { instanceOf: ToolError });
      t.is(error?.failure, 'forbidden-address', `${schema.type} ${addresses.join()}`);
    }
    await egress.close();
  }
  t.is(connections, 0);
});

test('a redirect to another host is not followed', async (t) => {
  const inside = await startToolServer(t, (_, response) => answerJson(response, { secret: true }));
  const outside = await startToolServer(t, (_, response) => {
    response.writeHead(307, { location: inside.url.replace('127.0.0.1', 'localhost') }).end();
  });
  const egress = createEgress({ allow: ['127.0.0.1/32'] });
  for (const schema of schemasAt(outside.url)) {
    await t.throwsAsync(callOf(toolsOver(egress), schema), { instanceOf: ToolError }, schema.type);
  }
  t.is(inside.heard.length, 0);
  await egress.close();
});
