// Bad images, files, addresses and schemas at every endpoint that takes them: refused with the field's name, nothing is
// asked of the vendor, nothing spent, nothing stored.
import test from 'ava';
import { createTrigger, executionsOf, sendSigned } from '../support/builders/triggers.js';
import { booksOf, sharedNodeWithOpenAi } from '../support/clients/direct-calls.js';
import type { Json } from '../support/clients/client.js';
import { tenantView } from '../support/database/owner-view.js';
import { storedBy } from '../support/database/stored-responses.js';
import { startConversations } from '../support/servers/conversations.js';
import type { TenantNode } from '../support/servers/node.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';

const server = new OpenAiServer();
const shared = sharedNodeWithOpenAi(test, server, { TROUPE_EGRESS_ALLOW: '' });
const model = 'gpt-4.1-mini';
const vendorModel = 'openai.gpt-4.1-mini';

/** Three megabytes that no door may take as a schema. */
const hugeSchema = { type: 'object', description: 'x'.repeat(3 * 1024 * 1024) };
/** Five megabytes and a byte. */
const tooLarge = Buffer.alloc(5 * 1024 * 1024 + 1).toString('base64');
const metadata = 'http://169.254.169.254/latest';
const notBase64 = '!!no base64!!';
const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

interface Bench {
  readonly node: TenantNode;
  readonly agentId: string;
  readonly hook: Parameters<typeof sendSigned>[1];
}

interface Refusal {
  readonly status: number;
  /** The name of the field. */
  readonly field: string;
  readonly text: string;
}

type Send = (bench: Bench, given: object) => Promise<Refusal>;

/** Anthropic's errors name the field in the message alone. */
const fieldOf = (json: Json): string =>
  String(json?.error?.param ?? json?.details?.field ?? json?.error?.message ?? '');

function post(path: (bench: Bench) => string, body: (given: object) => object): Send {
  return async (bench, given) => {
    const { status, json, text } = await bench.node.client.call('POST', path(bench), {
      key: bench.node.bootstrap.api_key,
      body: body(given),
    });
    return { status, field: fieldOf(json), text };
  };
}

const native = post(
  () => '/api/v3/llm/public/call',
  (given) => ({ model: vendorModel, query: 'x', ...given }),
);
const stream = post(
  ({ agentId }) => `/api/v2/agents/${agentId}/stream`,
  (given) => ({ message: 'x', ...given }),
);
const chat = post(
  () => '/v1/chat/completions',
  (given) => ({ model, messages: [{ role: 'user', content: 'x' }], ...given }),
);
const messages = post(
  () => '/v1/messages',
  (given) => ({
    model: vendorModel,
    max_tokens: 10,
    messages: [{ role: 'user', content: 'x' }],
    ...given,
  }),
);
const responses = post(
  () => '/v1/responses',
  (given) => ({ model, input: 'x', ...given }),
);
const embeddings = post(
  () => '/v1/embeddings',
  (given) => ({ model: 'text-embedding-3-small', input: 'x', ...given }),
);
const webhook: Send = async ({ node, hook }, files) => {
  const { status, json, text } = await sendSigned(node, hook, { message: 'x', ...files });
  return { status, field: fieldOf(json), text };
};
/** The tool of MCP clients. Its errors are results. */
const tool: Send = async ({ node, agentId }, given) => {
  const { status, text } = await node.client.call('POST', '/mcp', {
    key: node.bootstrap.api_key,
    headers: { accept: 'application/json, text/event-stream' },
    body: {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'chat_with_agent', arguments: { agent_id: agentId, message: 'x', ...given } },
    },
  });
  const isError = text.includes('"isError":true');
  return { status: isError ? 400 : status, field: text, text };
};

const asUser = (part: object) => [{ role: 'user', content: [part] }];
const image = (url: string) => ({ messages: asUser({ type: 'image_url', image_url: { url } }) });
const file = (file_data: string) => ({
  messages: asUser({ type: 'file', file: { filename: 'a', file_data } }),
});
const block = (source: object) => ({ messages: asUser({ type: 'image', source }) });
const document = (source: object) => ({ messages: asUser({ type: 'document', source }) });
const nativePart = (part: object) => ({ messages: asUser(part) });
const attached = (part: object) => ({ attachments: [part] });
const item = (part: object) => ({ input: asUser(part) });
const format = (schema: unknown) => ({
  response_format: { type: 'json_schema', json_schema: { name: 'a', schema } },
});
const first = 'messages.0.content.0';
const pdf = 'application/pdf';

const table: Readonly<Record<string, readonly [Send, readonly (readonly [object, number, string])[]]>> = {
  'the native call': [
    native,
    [
      [nativePart({ type: 'image', data: notBase64, media_type: 'image/png' }), 400, `${first}.data`],
      [nativePart({ type: 'image', data: tooLarge, media_type: 'image/png' }), 413, `${first}.data`],
      [nativePart({ type: 'image', data: pixel, media_type: 'video/mp4' }), 400, `${first}.media_type`],
      [nativePart({ type: 'image', url: metadata }), 400, `${first}.url`],
      [nativePart({ type: 'sound', data: 'AAAA' }), 400, `${first}.type`],
      [nativePart({ type: 'image', data: 7 }), 400, `${first}.data`],
      [format(hugeSchema), 400, 'response_format.json_schema.schema'],
      [{ tools: [{ type: 'function', function: { name: 'f', parameters: hugeSchema } }] }, 400, 'tools.0'],
    ],
  ],
  'the stream': [
    stream,
    [
      [attached({ type: 'image', data: notBase64 }), 400, 'attachments.0.data'],
      [attached({ type: 'file', data: tooLarge }), 413, 'attachments.0.data'],
      [attached({ type: 'image', url: metadata }), 400, 'attachments.0.url'],
      [attached({ type: 'sound', data: 'AAAA' }), 400, 'attachments.0.type'],
      [attached({ type: 'file', data: [] }), 400, 'attachments.0.data'],
      [{ options: format(hugeSchema) }, 400, 'options.response_format.json_schema.schema'],
    ],
  ],
  chat_with_agent: [
    tool,
    [
      [attached({ type: 'image', data: notBase64 }), 400, 'attachments.0.data'],
      [attached({ type: 'image', url: metadata }), 400, 'attachments.0.url'],
      [attached({ type: 'sound', data: 'AAAA' }), 400, 'attachments.0'],
    ],
  ],
  'a webhook with mapped attachments': [
    webhook,
    [
      [{ files: [{ type: 'image', data: notBase64 }] }, 400, 'attachments.0.data'],
      [{ files: [{ type: 'image', url: metadata }] }, 400, 'attachments.0.url'],
      [{ files: [{ type: 'sound', data: 'AAAA' }] }, 400, 'attachments.0.type'],
      [{ files: 'none' }, 400, 'attachments'],
    ],
  ],
  '/v1/chat/completions': [
    chat,
    [
      [image(`data:image/png;base64,${notBase64}`), 400, `${first}.image_url.url`],
      [image(`data:image/png;base64,${tooLarge}`), 400, `${first}.image_url.url`],
      [image(`data:video/mp4;base64,${pixel}`), 400, `${first}.image_url.url`],
      [image('file:///etc/passwd'), 400, `${first}.image_url.url`],
      [image(metadata), 400, first],
      [file(`data:${pdf};base64,${notBase64}`), 400, `${first}.file.file_data`],
      [file(`data:${pdf};base64,${tooLarge}`), 400, `${first}.file.file_data`],
      [file('data:video/mp4;base64,AAAA'), 400, first],
      [{ n: 2 }, 400, 'n'],
      [{ messages: [{ role: 'user', content: 7 }] }, 400, 'messages.0.content'],
      [format(hugeSchema), 400, 'response_format.json_schema.schema'],
      [
        { tools: [{ type: 'function', function: { name: 'f', parameters: hugeSchema } }] },
        400,
        'tools.0.function.parameters',
      ],
      [{ messages: [{ role: 'user', content: 'x'.repeat(21 * 1024 * 1024) }] }, 413, ''],
    ],
  ],
  '/v1/messages': [
    messages,
    [
      [block({ type: 'base64', media_type: 'image/png', data: notBase64 }), 400, `${first}.source.data`],
      [block({ type: 'base64', media_type: 'image/png', data: tooLarge }), 400, `${first}.source.data`],
      [block({ type: 'base64', media_type: 'video/mp4', data: pixel }), 400, `${first}.source.media_type`],
      [block({ type: 'url', url: 'file:///etc/passwd' }), 400, `${first}.source.url`],
      [block({ type: 'url', url: metadata }), 400, first],
      [document({ type: 'base64', media_type: pdf, data: notBase64 }), 400, `${first}.source.data`],
      [document({ type: 'base64', media_type: pdf, data: tooLarge }), 400, `${first}.source.data`],
      [document({ type: 'url', url: metadata }), 400, first],
      [{ messages: [{ role: 'user', content: 7 }] }, 400, 'messages.0.content'],
      [{ tools: [{ name: 'f', input_schema: hugeSchema }] }, 400, 'tools.0.input_schema'],
      [
        { output_config: { format: { type: 'json_schema', schema: hugeSchema } } },
        400,
        'output_config.format.schema',
      ],
    ],
  ],
  '/v1/responses': [
    responses,
    [
      [
        item({ type: 'input_image', image_url: `data:image/png;base64,${notBase64}` }),
        400,
        'input.0.content.0.image_url',
      ],
      [
        item({ type: 'input_image', image_url: `data:image/png;base64,${tooLarge}` }),
        400,
        'input.0.content.0.image_url',
      ],
      [
        item({ type: 'input_image', image_url: `data:video/mp4;base64,${pixel}` }),
        400,
        'input.0.content.0.image_url',
      ],
      [
        item({ type: 'input_file', file_data: `data:${pdf};base64,${tooLarge}` }),
        400,
        'input.0.content.0.file_data',
      ],
      [item({ type: 'input_image', image_url: metadata }), 400, 'input.0.content.0'],
      [
        item({ type: 'input_file', file_data: `data:${pdf};base64,${notBase64}` }),
        400,
        'input.0.content.0.file_data',
      ],
      [item({ type: 'input_file', file_url: metadata }), 400, 'input.0.content.0'],
      [
        { text: { format: { type: 'json_schema', name: 'n', schema: hugeSchema } } },
        400,
        'text.format.schema',
      ],
      [{ tools: [{ type: 'function', name: 'f', parameters: hugeSchema }] }, 400, 'tools.0.parameters'],
    ],
  ],
  '/v1/embeddings': [
    embeddings,
    [
      [{ input: 7 }, 400, 'input'],
      [{ input: [] }, 400, 'input'],
      [{ input: [{ text: 'x' }] }, 400, 'input'],
      [{ dimensions: 'many' }, 400, 'dimensions'],
      [{ input: 'x'.repeat(9 * 1024 * 1024) }, 413, ''],
    ],
  ],
};

/** A request of twenty megabytes is parsed and checked in several copies, but not in dozens. */
const growthMax = 600 * 1024 * 1024;

for (const [door, [send, cases]] of Object.entries(table)) {
  test.serial(`bad input is refused by its field at ${door}`, async (t) => {
    t.timeout(120_000);
    const node = await shared.tenant(t);
    const talk = await startConversations(node, vendorModel);
    const at = { ...node, bootstrap: { ...node.bootstrap, agent_id: talk.agentId } };
    const hook = await createTrigger(at, { context_mapping: { attachments: '$.files' } });
    const bench = { node, agentId: talk.agentId, hook };
    const before = process.memoryUsage().rss;
    for (const [given, status, field] of cases) {
      const refused = await send(bench, given);
      const about = `${JSON.stringify(given).slice(0, 200)}: ${refused.text.slice(0, 400)}`;
      t.is(refused.status, status, about);
      t.true(refused.field.includes(field), `${refused.field} is not ${field}: ${about}`);
    }
    t.true(process.memoryUsage().rss - before < growthMax, 'memory is bounded');
    t.is(server.requests.length, 0);
    t.deepEqual(await booksOf(node), { rows: [], counted: 0 });
    t.is((await storedBy(node)).length, 0);
    t.deepEqual(await executionsOf(node, hook), []);
    const rows = await tenantView(node);
    for (const place of ['sessions', 'messages', 'executions', 'attachments', 'calls'])
      t.is((await rows.query(`select from ${place}`)).rows.length, 0, place);
    await rows.end();
  });
}
