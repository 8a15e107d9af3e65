// OpenAI's Responses API, which the platform answers itself for every model: here the simulated one.
import { ChatOpenAI } from '@langchain/openai';
import { generateText, Output, streamText, tool } from 'ai';
import { zodTextFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import { aiOpenai, bothWays, failureOf, openai, wholeCases } from './clients.mjs';

const model = 'sim.tools';
const place = z.object({ city: z.string() });
const askedForWeather = 'get weather, city: Rome';

const responseTool = {
  type: 'function',
  name: 'get_weather',
  description: 'Weather of a city',
  parameters: { ...z.toJSONSchema(place), additionalProperties: false },
  strict: true,
};

/** A response, whole or as the client's own helper puts its stream together. */
function response(at, body, stream) {
  const { responses } = openai(at);
  return stream ? responses.stream({ model, ...body }).finalResponse() : responses.create({ model, ...body });
}

const responses = {
  'Responses: text': async (at, stream) => {
    const { output_text: text, status, usage } = await response(at, { input: 'say hello' }, stream);
    return text === 'echo: say hello' && status === 'completed' && usage.total_tokens > 0;
  },
  'Responses: instructions and messages': async (at, stream) => {
    const input = [
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'two' },
      { role: 'user', content: [{ type: 'input_text', text: 'three' }] },
    ];
    return (await response(at, { instructions: 'be brief', input }, stream)).output_text === 'echo: three';
  },
  'Responses: max_output_tokens': async (at, stream) => {
    const cut = await response(at, { input: 'one two three four', max_output_tokens: 2 }, stream);
    return cut.status === 'incomplete' && cut.incomplete_details.reason === 'max_output_tokens';
  },
  'Responses: a tool, its output and previous_response_id': async (at, stream) => {
    const asked = await response(at, { input: askedForWeather, tools: [responseTool] }, stream);
    const call = asked.output.find(({ type }) => type === 'function_call');
    const answered = await response(
      at,
      {
        previous_response_id: asked.id,
        tools: [responseTool],
        input: [{ type: 'function_call_output', call_id: call.call_id, output: 'sunny' }],
      },
      stream,
    );
    return call.arguments === '{"city":"Rome"}' && answered.output_text.includes('sunny');
  },
  'Responses: structured output': async (at, stream) => {
    const text = { format: zodTextFormat(place, 'place') };
    const body = { model, input: 'city: Rome', text };
    const { output_parsed: parsed } = stream
      ? await openai(at).responses.stream(body).finalResponse()
      : await openai(at).responses.parse(body);
    return parsed.city === 'Rome';
  },
};

const storedCases = {
  'Responses: a stored one is read and deleted': async (at) => {
    const client = openai(at);
    const { id } = await client.responses.create({ model, input: 'say hello' });
    const read = await client.responses.retrieve(id);
    await client.responses.delete(id);
    return (
      read.output_text === 'echo: say hello' &&
      (await failureOf(client.responses.retrieve(id)))?.status === 404
    );
  },
  'Responses: a tool of the vendor itself is refused by name': async (at) => {
    const refused = openai(at).responses.create({ model, input: 'x', tools: [{ type: 'web_search' }] });
    return (await failureOf(refused))?.param?.startsWith('tools.0') === true;
  },
};

const aiCalls = {
  'Responses: text': async (at, stream) => {
    const made = await generated({ model: aiOpenai(at)(model), prompt: 'say hello' }, stream);
    return made.text === 'echo: say hello' && made.usage.totalTokens > 0;
  },
  'Responses: tools that are called and answered': async (at, stream) => {
    const weather = tool({ inputSchema: place, execute: ({ city }) => `sunny in ${city}` });
    const made = await generated(
      {
        model: aiOpenai(at)(model),
        prompt: askedForWeather,
        tools: { get_weather: weather },
        stopWhen: ({ steps }) => steps.length >= 3,
      },
      stream,
    );
    return made.steps.length === 2 && made.text.includes('sunny in Rome');
  },
  'Responses: structured output': async (at, stream) => {
    const output = Output.object({ schema: place });
    const made = await generated({ model: aiOpenai(at)(model), prompt: 'city: Rome', output }, stream);
    return made.output.city === 'Rome';
  },
  'Responses: a conversation by previousResponseId': async (at, stream) => {
    const first = await generated({ model: aiOpenai(at)(model), prompt: 'one' }, stream);
    const { responseId } = first.providerMetadata.openai;
    const providerOptions = { openai: { previousResponseId: responseId } };
    const next = await generated({ model: aiOpenai(at)(model), prompt: 'two', providerOptions }, stream);
    return next.text === 'echo: two' && next.usage.inputTokens > first.usage.inputTokens;
  },
};

async function generated(options, stream) {
  if (!stream) return generateText({ maxRetries: 0, ...options });
  const failures = [];
  const made = streamText({ maxRetries: 0, ...options, onError: ({ error }) => void failures.push(error) });
  await made.consumeStream();
  const [failure] = failures;
  if (failure !== undefined) throw failure instanceof Error ? failure : new Error(JSON.stringify(failure));
  const [text, steps, usage, providerMetadata, output] = await Promise.all([
    made.text,
    made.steps,
    made.usage,
    made.providerMetadata,
    options.output === undefined ? undefined : made.output,
  ]);
  return { text, steps, usage, providerMetadata, output };
}

const langchainCase = {
  client: '@langchain/openai',
  feature: 'Responses: text',
  run: async (at) => {
    const chat = new ChatOpenAI({
      model,
      apiKey: at.key,
      maxRetries: 0,
      useResponsesApi: true,
      configuration: { baseURL: `${at.baseUrl}/v1` },
    });
    return (await chat.invoke('say hello')).text === 'echo: say hello';
  },
};

export const responseCases = [
  ...bothWays('openai', responses),
  ...wholeCases('openai', storedCases),
  ...bothWays('@ai-sdk/openai', aiCalls),
  langchainCase,
];
