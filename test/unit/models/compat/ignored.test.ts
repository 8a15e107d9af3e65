// Which fields of a request a model of another format does not get, of those that the table calls translated.
import test from 'ava';
import { honouredBy } from '../../../../src/llm/index.js';
import { fromChatRequest, fromMessagesRequest } from '../../../../src/models/compat/index.js';
import { catalogue } from '../../../support/servers/vendors/call-harness.js';

const question = [{ role: 'user', content: 'Hello' }];
const schema = { type: 'object', properties: {} };

function modelOf(id: string) {
  const model = catalogue.byId(id);
  if (model === undefined) throw new Error(id);
  return model;
}

function ofMessages(model: string, fields: object): string[] {
  const { request } = fromMessagesRequest({ model, max_tokens: 50, messages: question, ...fields });
  return honouredBy(request, modelOf(model)).ignored.map(({ field }) => field);
}

function ofChat(model: string, fields: object): string[] {
  const { request } = fromChatRequest({ model, messages: question, ...fields });
  return honouredBy(request, modelOf(model)).ignored.map(({ field }) => field);
}

test('a field of Anthropic’s format that a model does not take is named', (t) => {
  const stops = { stop_sequences: ['END'] };
  t.deepEqual(ofMessages('openai.gpt-5', stops), ['stop_sequences']);
  t.deepEqual(ofMessages('openai.gpt-4.1', stops), []);
  t.deepEqual(ofMessages('openai.gpt-4.1', { stop_sequences: ['a', 'b', 'c', 'd', 'e'] }), [
    'stop_sequences',
  ]);
  t.deepEqual(ofMessages('google.gemini-2.5-flash', stops), []);
  t.deepEqual(ofMessages('google.gemini-2.5-flash', { stop_sequences: ['a', 'b', 'c', 'd', 'e', 'f'] }), [
    'stop_sequences',
  ]);
  const thinking = { thinking: { type: 'enabled', budget_tokens: 2_000 } };
  t.deepEqual(ofMessages('xai.grok-3-mini', thinking), ['thinking']);
  t.deepEqual(ofMessages('openai.gpt-5', thinking), []);
  t.deepEqual(ofMessages('google.gemini-2.5-flash', { ...thinking, top_k: 5 }), []);
  t.deepEqual(ofMessages('xai.grok-3-mini', { output_config: { effort: 'low' } }), ['output_config']);
});

test('a field of OpenAI’s format that a model does not take beside another is named', (t) => {
  const sonnet = 'anthropic.claude-sonnet-4-6';
  const effort = { reasoning_effort: 'low' };
  t.deepEqual(ofChat(sonnet, { ...effort, temperature: 0.3, top_p: 0.9 }), ['temperature', 'top_p']);
  t.deepEqual(ofChat(sonnet, { temperature: 0.3, top_p: 0.9 }), ['top_p']);
  const forced = {
    tools: [{ type: 'function', function: { name: 'weather', parameters: schema } }],
    tool_choice: 'required',
  };
  t.deepEqual(ofChat(sonnet, { ...effort, ...forced, temperature: 0.3 }), ['reasoning_effort']);
  t.deepEqual(ofChat('anthropic.claude-sonnet-5', { ...effort, ...forced }), []);
  t.deepEqual(ofChat('anthropic.claude-opus-5-5', forced), ['tool_choice']);
  t.deepEqual(ofChat('anthropic.claude-opus-5-5', { reasoning_effort: 'none' }), ['reasoning_effort']);
  t.deepEqual(ofChat(sonnet, { stop: ['\n', 'END'] }), ['stop']);
  t.deepEqual(ofChat(sonnet, { stop: ['END'] }), []);
});
