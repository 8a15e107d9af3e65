// Files in requests of OpenAI's Responses API.
import test from 'ava';
import OpenAI from 'openai';
import { sharedNodeWithOpenAi } from '../support/clients/direct-calls.js';
import type { TenantNode } from '../support/servers/node.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';

const server = new OpenAiServer();
const shared = sharedNodeWithOpenAi(test, server);
const model = 'gpt-4.1-mini';
const clientOf = ({ node, bootstrap }: TenantNode): OpenAI =>
  new OpenAI({ apiKey: bootstrap.api_key, baseURL: `${node.baseUrl}/v1`, maxRetries: 0 });

test.serial(
  'files reach models that read them, text files as text, and go on with the conversation',
  async (t) => {
    const node = await shared.tenant(t);
    const pdf = Buffer.from('%PDF-1.4\n%%EOF').toString('base64');
    const notes = Buffer.from('Rain at noon.').toString('base64');
    const client = clientOf(node);
    const content = [
      { type: 'input_text' as const, text: 'read' },
      { type: 'input_file' as const, filename: 'a.pdf', file_data: `data:application/pdf;base64,${pdf}` },
      { type: 'input_file' as const, filename: 'n.txt', file_data: `data:text/plain;base64,${notes}` },
    ];
    const first = await client.responses.create({ model, input: [{ role: 'user', content }] });
    const seen = {
      role: 'user',
      content: [
        { type: 'text', text: 'read' },
        { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${pdf}` } },
        { type: 'text', text: '<file name="n.txt">\nRain at noon.\n</file>' },
      ],
    };
    t.deepEqual(server.requests.at(-1)?.body['messages'], [seen]);
    await client.responses.create({ model, input: 'and?', previous_response_id: first.id });
    const sent: unknown = server.requests.at(-1)?.body['messages'];
    t.deepEqual(Array.isArray(sent) ? sent[0] : undefined, seen);
    const calls = server.requests.length;
    const refused = await t.throwsAsync(
      client.responses.create({ model: 'sim.echo', input: [{ role: 'user', content }] }),
      { instanceOf: OpenAI.BadRequestError },
    );
    t.deepEqual([refused.code, refused.param], ['unsupported_content', 'input.0.content.1']);
    t.is(server.requests.length, calls);
  },
);
