// What the Responses API refuses, by the name of the field.
import test from 'ava';
import { booksOf, sharedNodeWithOpenAi } from '../support/clients/direct-calls.js';
import { storedBy } from '../support/database/stored-responses.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';

const server = new OpenAiServer();
const shared = sharedNodeWithOpenAi(test, server);
const model = 'gpt-4.1-mini';

const image = (image_url: string) => [{ role: 'user', content: [{ type: 'input_image', image_url }] }];
const file = (given: object) => [{ role: 'user', content: [{ type: 'input_file', ...given }] }];
const huge = { type: 'object', description: 'x'.repeat(3 * 1024 * 1024) };
const withTool = (tool: object) => ({ input: 'x', tools: [tool] });
const wrong: readonly (readonly [body: Readonly<Record<string, unknown>>, param: string])[] = [
  [{}, 'input'],
  [{ input: [] }, 'input'],
  [{ input: 7 }, 'input'],
  [{ input: [{ role: 'robot', content: 'x' }] }, 'input.0.role'],
  [{ input: [{ role: 'user', content: 7 }] }, 'input.0.content'],
  [{ input: [{ role: 'user', content: [{ type: 'input_text' }] }] }, 'input.0.content.0.text'],
  [{ input: [{ role: 'user', content: [{ type: 'input_audio' }] }] }, 'input.0.content.0.type'],
  [{ input: [{ type: 'item_reference', id: 'x' }] }, 'input.0.id'],
  [{ input: [{ type: 'item_reference', id: `msg_${'0'.repeat(36)}` }] }, 'input.0.id'],
  [{ input: [{ type: 'web_search_call', id: 'x' }] }, 'input.0.type'],
  [{ input: [{ type: 'function_call_output', call_id: 'none', output: 'x' }] }, 'input.0.call_id'],
  [{ input: [{ type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' }] }, 'input'],
  [{ input: image('data:image/png;base64,###') }, 'input.0.content.0.image_url'],
  [{ input: image('data:image/png;base64,abc') }, 'input.0.content.0.image_url'],
  [{ input: image('data:image/png,abcd') }, 'input.0.content.0.image_url'],
  [{ input: image('file:///etc/passwd') }, 'input.0.content.0.image_url'],
  [
    { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'f' }] }] },
    'input.0.content.0.file_id',
  ],
  [{ input: file({}) }, 'input.0.content.0.file_data'],
  [{ input: file({ file_id: 'f' }) }, 'input.0.content.0.file_id'],
  [{ input: file({ file_data: 'JVBERi0=' }) }, 'input.0.content.0.file_data'],
  [{ input: file({ file_data: 'data:application/pdf;base64,###' }) }, 'input.0.content.0.file_data'],
  [{ input: file({ file_url: 'file:///etc/passwd' }) }, 'input.0.content.0.file_url'],
  [{ input: file({ file_url: 'https://a.example/b.pdf' }) }, 'input.0.content.0'],
  [{ input: file({ file_data: 'data:application/zip;base64,UEsDBA==' }) }, 'input.0.content.0'],
  [withTool({ type: 'web_search' }), 'tools.0.type'],
  [withTool({ type: 'code_interpreter', container: { type: 'auto' } }), 'tools.0.type'],
  [withTool({ type: 'mcp', server_label: 'x' }), 'tools.0.type'],
  [withTool({ type: 'function', name: 'not a name' }), 'tools.0.name'],
  [{ input: 'x', tool_choice: { type: 'web_search' } }, 'tool_choice'],
  [{ input: 'x', background: true }, 'background'],
  [{ input: 'x', conversation: 'conv_1' }, 'conversation'],
  [{ input: 'x', prompt: { id: 'p' } }, 'prompt'],
  [{ input: 'x', truncation: 'auto' }, 'truncation'],
  [{ input: 'x', top_logprobs: 3 }, 'top_logprobs'],
  [{ input: 'x', include: ['message.output_text.logprobs'] }, 'include.0'],
  [{ input: 'x', text: { verbosity: 'high' } }, 'text.verbosity'],
  [{ input: 'x', text: { format: { type: 'xml' } } }, 'text.format.type'],
  [{ input: 'x', text: { format: { type: 'json_schema', name: 'n', schema: huge } } }, 'text.format.schema'],
  [withTool({ type: 'function', name: 'f', parameters: huge }), 'tools.0.parameters'],
  [{ input: 'x', reasoning: { effort: 'huge' } }, 'reasoning.effort'],
  [{ input: 'x', max_output_tokens: 0 }, 'max_output_tokens'],
  [{ input: 'x', max_tokens: 5 }, 'max_tokens'],
  [{ input: 'x', metadata: { a: 1 } }, 'metadata.a'],
  [{ input: 'x', model: 'nobody' }, 'model'],
  [{ input: 'x', model: 'text-embedding-3-small' }, 'model'],
];

test.serial(
  'wrong and unsupported input is refused by name; nothing is asked, spent or stored',
  async (t) => {
    const node = await shared.tenant(t);
    for (const [body, param] of wrong) {
      const { status, json, text } = await node.client.call('POST', '/v1/responses', {
        key: node.bootstrap.api_key,
        body: { model, ...body },
      });
      t.is(status, 400, `${JSON.stringify(body)}: ${text}`);
      t.is(json.error.param, param, JSON.stringify(body));
    }
    t.is(server.requests.length, 0);
    t.deepEqual(await booksOf(node), { rows: [], counted: 0 });
    t.is((await storedBy(node)).length, 0);
  },
);
