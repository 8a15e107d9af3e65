// The simulated vendor servers of other tests, checked for the protocol by the vendors' own clients.
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import test from 'ava';
import OpenAI from 'openai';
import { AnthropicServer } from '../../support/servers/vendors/anthropic-server.js';
import { GeminiServer } from '../../support/servers/vendors/gemini-server.js';
import { OpenAiServer } from '../../support/servers/vendors/openai-server.js';

const calls = [
  { id: 'call_a', name: 'weather', args: ['{"city":', '"Rome"}'] },
  { id: 'call_b', name: 'time', args: ['{"zone":', '"UTC"}'] },
];

test("OpenAI's client reads the test server: whole, streamed, with interleaved tools, refused", async (t) => {
  const server = await new OpenAiServer().start();
  t.teardown(() => server.stop());
  const client = new OpenAI({ apiKey: 'key', baseURL: server.baseUrl, maxRetries: 0 });
  const messages = [{ role: 'user' as const, content: 'two words' }];

  const whole = await client.chat.completions.create({ model: 'gpt-test', messages });
  t.is(whole.choices[0]?.message.content, 'Hello world');
  t.is(whole.usage?.total_tokens, 5);

  server.script({ pieces: ['Hi'], toolCalls: calls });
  const runner = client.chat.completions.stream({
    model: 'gpt-test',
    messages,
    stream_options: { include_usage: true },
  });
  const completion = await runner.finalChatCompletion();
  const message = completion.choices[0]?.message;
  t.is(message?.content, 'Hi');
  t.deepEqual(
    message?.tool_calls?.map((call) => (call.type === 'function' ? call.function.arguments : '')),
    ['{"city":"Rome"}', '{"zone":"UTC"}'],
  );
  t.is(completion.usage?.completion_tokens, 5);

  server.script({ status: 401, message: 'no' });
  const error = await t.throwsAsync(client.chat.completions.create({ model: 'gpt-test', messages }));
  t.true(error instanceof OpenAI.AuthenticationError);
});

test("Anthropic's client reads the test server: whole, streamed, with thoughts and tools, failing inside 200", async (t) => {
  const server = await new AnthropicServer().start();
  t.teardown(() => server.stop());
  const client = new Anthropic({ apiKey: 'key', baseURL: server.baseUrl, maxRetries: 0 });
  const request = {
    model: 'claude-test',
    max_tokens: 100,
    messages: [{ role: 'user' as const, content: 'two words' }],
  };

  const whole = await client.messages.create(request);
  t.deepEqual(
    whole.content.map((block) => (block.type === 'text' ? block.text : block.type)),
    ['Hello world'],
  );

  server.script({ thinking: ['let me', ' think'], pieces: ['Hi', ' you'], toolCalls: calls });
  const final = await client.messages.stream(request).finalMessage();
  t.deepEqual(
    final.content.map((block) => block.type),
    ['thinking', 'text', 'tool_use', 'tool_use'],
  );
  const [thought, , tool] = final.content;
  t.is(thought?.type === 'thinking' ? thought.signature : '', 'sig-of-thought');
  t.deepEqual(tool?.type === 'tool_use' ? tool.input : {}, { city: 'Rome' });
  t.is(final.usage.output_tokens, 8);
  t.is(final.stop_reason, 'tool_use');

  server.script({ pieces: ['a', 'b'], failAfter: 1 });
  await t.throwsAsync(client.messages.stream(request).finalMessage(), { message: /Overloaded/ });
});

test("Google's client reads the test server: whole, streamed, with thoughts and tools, refused", async (t) => {
  const server = await new GeminiServer().start();
  t.teardown(() => server.stop());
  const client = new GoogleGenAI({ apiKey: 'key', httpOptions: { baseUrl: server.baseUrl } });
  const request = { model: 'gemini-test', contents: 'two words' };

  const whole = await client.models.generateContent(request);
  t.is(whole.text, 'Hello world');
  t.is(whole.usageMetadata?.totalTokenCount, (whole.usageMetadata?.promptTokenCount ?? 0) + 2);

  server.script({ thinking: ['hm'], pieces: ['Hi', ' you'], toolCalls: [calls[0] ?? fail()] });
  const texts: string[] = [];
  const names: (string | undefined)[] = [];
  for await (const chunk of await client.models.generateContentStream(request)) {
    for (const part of chunk.candidates?.[0]?.content?.parts ?? []) {
      if (part.functionCall !== undefined) names.push(part.functionCall.name);
      else if (part.thought !== true) texts.push(part.text ?? '');
    }
  }
  t.is(texts.join(''), 'Hi you');
  t.deepEqual(names, ['weather']);

  server.script({ status: 400, message: 'bad' });
  await t.throwsAsync(client.models.generateContent(request), { message: /INVALID_ARGUMENT/ });
});

function fail(): never {
  throw new Error('not reached');
}
