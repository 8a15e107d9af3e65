// What the vendors' own unmodified clients send through the platform, compared with what they send directly.
import Anthropic from '@anthropic-ai/sdk';
import test, { type ExecutionContext } from 'ava';
import OpenAI from 'openai';
import { booksOf, sumOf } from '../support/clients/direct-calls.js';
import { clients, recordingVendors } from '../support/servers/vendors/recording-vendors.js';

const { shared, chat: chatVendor, messages: messagesVendor, gemini: geminiVendor } = recordingVendors(test);
const { openai, anthropic } = clients;

const chatRequest = {
  model: 'gpt-4.1-mini',
  messages: [
    { role: 'developer' as const, content: 'Be brief.', name: 'boss' },
    {
      role: 'user' as const,
      name: 'ann',
      content: [
        { type: 'text' as const, text: 'What is this?' },
        {
          type: 'image_url' as const,
          image_url: { url: 'https://example.com/a.png', detail: 'low' as const },
        },
        { type: 'input_audio' as const, input_audio: { data: 'QUJD', format: 'wav' as const } },
      ],
    },
  ],
  tools: [
    {
      type: 'function' as const,
      function: { name: 'weather', strict: true, parameters: { type: 'object', properties: {} } },
    },
  ],
  response_format: {
    type: 'json_schema' as const,
    json_schema: { name: 'city', description: 'a city', strict: true, schema: { type: 'object' } },
  },
  parallel_tool_calls: false,
  presence_penalty: 0.5,
  frequency_penalty: 0.25,
  logit_bias: { '50256': -100 },
  logprobs: true,
  top_logprobs: 2,
  temperature: 0.3,
  top_p: 0.9,
  seed: 7,
  stop: ['END'],
  max_tokens: 100,
  verbosity: 'low' as const,
  user: 'ann',
  metadata: { team: 'blue' },
  service_tier: 'auto' as const,
  store: true,
  prediction: { type: 'content' as const, content: 'a cat' },
  modalities: ['text' as const],
  prompt_cache_key: 'p',
  newest_field: { of: 'tomorrow' },
};

test.serial("OpenAI's client: a vendor of the same format gets every field as it was written", async (t) => {
  const node = await shared.tenant(t);
  await openai(node).chat.completions.create(chatRequest);
  t.deepEqual(chatVendor.requests.at(-1)?.body, chatRequest);
  await openai(node).chat.completions.create({ ...chatRequest, stream: true });
  const direct = new OpenAI({ apiKey: 'k', baseURL: chatVendor.baseUrl, maxRetries: 0 });
  await direct.chat.completions.create({ ...chatRequest, stream: true });
  const [through, straight] = chatVendor.requests.slice(-2).map(({ body }) => body);
  const { stream_options: options, ...rest } = through ?? {};
  t.deepEqual(rest, straight);
  t.deepEqual(options, { include_obfuscation: false, include_usage: true }, 'the ledger needs the usage');
});

const messagesRequest = {
  model: 'claude-sonnet-4-5',
  max_tokens: 2_000,
  system: [{ type: 'text' as const, text: 'Be brief.', cache_control: { type: 'ephemeral' as const } }],
  messages: [
    {
      role: 'user' as const,
      content: [
        {
          type: 'document' as const,
          source: { type: 'text' as const, media_type: 'text/plain' as const, data: 'Rome is old.' },
          citations: { enabled: true },
          cache_control: { type: 'ephemeral' as const, ttl: '1h' as const },
        },
        { type: 'text' as const, text: 'How old?' },
      ],
    },
  ],
  tools: [
    {
      name: 'weather',
      strict: true,
      input_schema: { type: 'object' as const },
      cache_control: { type: 'ephemeral' as const },
    },
    { type: 'web_search_20250305' as const, name: 'web_search' as const, max_uses: 2 },
  ],
  tool_choice: { type: 'auto' as const, disable_parallel_tool_use: true },
  thinking: { type: 'enabled' as const, budget_tokens: 1_024 },
  top_k: 5,
  stop_sequences: ['END'],
  metadata: { user_id: 'ann' },
  service_tier: 'standard_only' as const,
  newest_field: { of: 'tomorrow' },
};

test.serial(
  "Anthropic's client: a vendor of the same format gets every field as it was written",
  async (t) => {
    const node = await shared.tenant(t);
    const beta = { headers: { 'anthropic-beta': 'context-1m-2025-08-07' } };
    await anthropic(node).messages.create(messagesRequest, beta);
    const seen = messagesVendor.requests.at(-1);
    t.deepEqual(seen?.body, { ...messagesRequest, model: seen?.body['model'] });
    t.regex(String(seen?.body['model']), /^claude-sonnet-4-5/);
    t.is(seen?.headers['anthropic-beta'], 'context-1m-2025-08-07');
    await anthropic(node).messages.create({ ...messagesRequest, stream: true });
    t.deepEqual(messagesVendor.requests.at(-1)?.body, { ...seen?.body, stream: true });
  },
);

const plainQuestion = [{ role: 'user' as const, content: 'Hello' }];

test.serial(
  'a field that another vendor has not is refused by name, in the form of the endpoint',
  async (t) => {
    const node = await shared.tenant(t);
    const refused: Record<string, unknown> = {
      logit_bias: { '1': 1 },
      logprobs: true,
      presence_penalty: 1,
      frequency_penalty: 1,
      verbosity: 'low',
      newest_field: true,
      audio: { voice: 'alloy', format: 'wav' },
    };
    for (const [field, value] of Object.entries(refused)) {
      const asked = { model: 'anthropic.claude-sonnet-4-5', messages: plainQuestion, [field]: value };
      const error = await t.throwsAsync(openai(node).chat.completions.create(asked), {
        instanceOf: OpenAI.BadRequestError,
      });
      t.deepEqual([error.code, error.param], ['validation_error', field]);
    }
    for (const [field, value] of Object.entries({ top_k: 5, container: 'c', newest_field: true })) {
      const wish = { model: 'openai.gpt-4.1-mini', max_tokens: 50, messages: plainQuestion, [field]: value };
      const error = await t.throwsAsync(anthropic(node).messages.create(wish), {
        instanceOf: Anthropic.BadRequestError,
      });
      t.regex(error.message, new RegExp(field));
    }
    const document = { ...messagesRequest, model: 'openai.gpt-4.1-mini', top_k: undefined, tools: [] };
    const error = await t.throwsAsync(anthropic(node).messages.create(document as never), {
      instanceOf: Anthropic.BadRequestError,
    });
    t.regex(error.message, /messages\.0\.content\.0\.type|newest_field/);
    t.is(chatVendor.requests.length + messagesVendor.requests.length, 0);
    t.is((await booksOf(node)).rows.length, 0, 'nothing is spent');
  },
);

test.serial('`n` above 1 is refused by name', async (t) => {
  const node = await shared.tenant(t);
  const error = await t.throwsAsync(
    openai(node).chat.completions.create({ model: 'gpt-4.1-mini', messages: plainQuestion, n: 2 }),
    { instanceOf: OpenAI.BadRequestError },
  );
  t.is(error.param, 'n');
  t.is(chatVendor.requests.length, 0);
});

test.serial('harmless fields are listed in X-Troupe-Ignored, for whole answers and streams', async (t) => {
  const node = await shared.tenant(t);
  const harmless = { user: 'ann', metadata: { a: 'b' }, service_tier: 'flex' as const, store: true };
  for (const stream of [false, true]) {
    const wish = { model: 'anthropic.claude-sonnet-4-5', messages: plainQuestion, stream, ...harmless };
    const { response } = await openai(node).chat.completions.create(wish).withResponse();
    t.is(response.headers.get('x-troupe-ignored'), 'user, metadata, service_tier, store');
  }
  const same = await openai(node)
    .chat.completions.create({ model: 'gpt-4.1-mini', messages: plainQuestion, ...harmless })
    .withResponse();
  t.is(same.response.headers.get('x-troupe-ignored'), null);
});

test.serial('the Responses API names a wish that the vendor of the model has not', async (t) => {
  const node = await shared.tenant(t);
  const wish = {
    input: 'Hello',
    parallel_tool_calls: false,
    tools: [{ type: 'function' as const, name: 'weather', strict: false, parameters: { type: 'object' } }],
  };
  for (const [model, ignored] of [
    ['google.gemini-2.5-flash', 'parallel_tool_calls'],
    ['anthropic.claude-sonnet-4-5', null],
  ] as const) {
    const { response } = await openai(node)
      .responses.create({ ...wish, model })
      .withResponse();
    t.is(response.headers.get('x-troupe-ignored'), ignored, model);
  }
});

test.serial('a chain of `auto` keeps to vendors that honour what was asked for', async (t) => {
  const node = await shared.tenant(t);
  const wish = { model: 'auto', messages: plainQuestion, logit_bias: { '1': 1 } };
  await openai(node).chat.completions.create(wish);
  t.deepEqual(chatVendor.requests.at(-1)?.body['logit_bias'], { '1': 1 });
  chatVendor.byDefault({ status: 500 });
  await t.throwsAsync(openai(node).chat.completions.create(wish));
  t.is(messagesVendor.requests.length + geminiVendor.requests.length, 0);
});

test.serial(
  'what another vendor has is translated: strict tools, cache marks, exact budgets of thoughts',
  async (t) => {
    const node = await shared.tenant(t);
    const marked = { type: 'text' as const, text: 'Be brief.', cache_control: { type: 'ephemeral' } };
    await openai(node).chat.completions.create({
      model: 'anthropic.claude-sonnet-4-5',
      messages: [{ role: 'system', content: [marked] }, ...plainQuestion],
      tools: chatRequest.tools,
      parallel_tool_calls: false,
    });
    const sent = messagesVendor.requests.at(-1)?.body;
    t.deepEqual(sent?.['system'], [marked]);
    t.like(sent?.['tools'], [{ name: 'weather', strict: true }]);
    t.deepEqual(sent?.['tool_choice'], { type: 'auto', disable_parallel_tool_use: true });
    const thoughtful = {
      model: 'google.gemini-2.5-flash',
      max_tokens: 2_000,
      messages: plainQuestion,
      thinking: { type: 'enabled' as const, budget_tokens: 1_500 },
      top_k: 5,
    };
    await anthropic(node).messages.create(thoughtful);
    t.like(geminiVendor.requests.at(-1)?.body['generationConfig'], {
      topK: 5,
      thinkingConfig: { thinkingBudget: 1_500 },
    });
  },
);

function logprobsOf(token: string): object {
  return { content: [{ token, logprob: -0.1, bytes: null, top_logprobs: [] }], refusal: null };
}

test.serial('log probabilities and other parts of an answer reach the client', async (t) => {
  const node = await shared.tenant(t);
  const head = {
    id: 'x',
    created: 1,
    model: 'gpt-4.1-mini',
    system_fingerprint: 'fp_1',
    service_tier: 'default',
  };
  const message = {
    role: 'assistant',
    content: 'Hi',
    refusal: null,
    annotations: [{ type: 'url_citation' }],
  };
  const usage = { prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 };
  chatVendor.script({
    garbage: JSON.stringify({
      ...head,
      object: 'chat.completion',
      choices: [{ index: 0, message, logprobs: logprobsOf('Hi'), finish_reason: 'stop' }],
      usage: { ...usage, prompt_tokens_details: { cached_tokens: 4, audio_tokens: 0 } },
    }),
  });
  const wish = { model: 'gpt-4.1-mini', messages: plainQuestion, logprobs: true };
  const whole = await openai(node).chat.completions.create(wish);
  t.deepEqual<unknown, unknown>(whole.choices[0]?.logprobs, logprobsOf('Hi'));
  t.deepEqual<unknown, unknown>(whole.choices[0]?.message, message);
  t.like(whole, { system_fingerprint: 'fp_1', service_tier: 'default' });
  t.deepEqual(whole.usage?.prompt_tokens_details, { cached_tokens: 4, audio_tokens: 0 });
  const chunk = (choice: object, more: object = {}): string =>
    `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, ...choice }], ...more })}\n\n`;
  chatVendor.script({
    garbage: [
      chunk({ delta: { role: 'assistant', content: '' }, finish_reason: null }),
      ...['a', 'b', 'c'].map((content) =>
        chunk({ delta: { content }, logprobs: logprobsOf(content), finish_reason: null }),
      ),
      chunk({ delta: {}, finish_reason: 'stop' }),
      'data: [DONE]\n\n',
    ].join(''),
  });
  const streamed = await openai(node).chat.completions.stream(wish).finalChatCompletion();
  t.is(streamed.choices[0]?.message.content, 'abc');
  t.deepEqual(
    streamed.choices[0]?.logprobs?.content?.map(({ token }) => token),
    ['a', 'b', 'c'],
  );
  t.is(streamed.system_fingerprint, 'fp_1');
});

test.serial('a thousand log probabilities with all their alternatives reach the client', async (t) => {
  const node = await shared.tenant(t);
  const one = { token: ' word', logprob: -0.1, bytes: [...Buffer.from(' word')] };
  const each = { ...one, top_logprobs: Array.from({ length: 20 }, () => one) };
  const logprobs = { content: Array.from({ length: 1_000 }, () => each), refusal: null };
  const message = { role: 'assistant', content: 'word', refusal: null };
  const choices = [{ index: 0, message, logprobs, finish_reason: 'stop' }];
  const usage = { prompt_tokens: 10, completion_tokens: 1_000, total_tokens: 1_010 };
  chatVendor.script({ garbage: JSON.stringify({ choices, usage }) });
  const wish = { model: 'gpt-4.1-mini', messages: plainQuestion, logprobs: true, top_logprobs: 20 };
  const whole = await openai(node).chat.completions.create(wish);
  t.deepEqual<unknown, unknown>(whole.choices[0]?.logprobs, logprobs);
  t.is(sumOf((await booksOf(node)).rows).output, 1_000);
});

test.serial(
  "blocks of Anthropic's own tools, citations and the stop sequence reach the client",
  async (t) => {
    const node = await shared.tenant(t);
    const citation = { type: 'char_location', cited_text: 'Rome', document_index: 0 };
    const searched = {
      type: 'server_tool_use',
      id: 'srvtoolu_1',
      name: 'web_search',
      input: { query: 'Rome' },
    };
    const found = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] };
    const usage = { input_tokens: 5, output_tokens: 2, cache_read_input_tokens: 7 };
    const reply = {
      id: 'msg_x',
      type: 'message',
      role: 'assistant',
      model: 'claude',
      content: [searched, found, { type: 'text', text: 'Old', citations: [citation] }],
      stop_reason: 'stop_sequence',
      stop_sequence: 'END',
      usage,
    };
    messagesVendor.script({ garbage: JSON.stringify(reply) });
    const wish = { ...messagesRequest, thinking: undefined };
    const whole = await anthropic(node).messages.create(wish as never);
    checkBlocks(t, whole);
    const events = [
      { type: 'message_start', message: { ...reply, content: [], stop_reason: null, stop_sequence: null } },
      { type: 'content_block_start', index: 0, content_block: { ...searched, input: {} } },
      {
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'input_json_delta', partial_json: '{"query":"Rome"}' },
      },
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1, content_block: found },
      { type: 'content_block_stop', index: 1 },
      { type: 'content_block_start', index: 2, content_block: { type: 'text', text: '', citations: [] } },
      { type: 'content_block_delta', index: 2, delta: { type: 'text_delta', text: 'Old' } },
      { type: 'content_block_delta', index: 2, delta: { type: 'citations_delta', citation } },
      { type: 'content_block_stop', index: 2 },
      { type: 'message_delta', delta: { stop_reason: 'stop_sequence', stop_sequence: 'END' }, usage },
      { type: 'message_stop' },
    ];
    const text = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
    messagesVendor.script({ garbage: text });
    checkBlocks(
      t,
      await anthropic(node)
        .messages.stream(wish as never)
        .finalMessage(),
    );

    function checkBlocks(at: ExecutionContext, message: Anthropic.Message): void {
      at.deepEqual(
        message.content.map(({ type }) => type),
        ['server_tool_use', 'web_search_tool_result', 'text'],
      );
      at.like(message.content[0], { input: { query: 'Rome' } });
      at.like(message.content[2], { text: 'Old', citations: [citation] });
      at.is(message.stop_sequence, 'END');
      at.is(message.usage.cache_read_input_tokens, 7);
    }
  },
);

test.serial('an answer without citations has no such field', async (t) => {
  const node = await shared.tenant(t);
  const wish = { model: 'sim.echo', max_tokens: 50, messages: plainQuestion };
  const whole = await anthropic(node).messages.create(wish);
  t.false('citations' in (whole.content[0] ?? {}));
  const raw = await anthropic(node)
    .messages.create({ ...wish, stream: true })
    .asResponse();
  t.false((await raw.text()).includes('citations'));
});
