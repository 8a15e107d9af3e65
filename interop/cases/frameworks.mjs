// LangChain and the AI SDK: what they make of a prompt, a tool and a schema, at a vendor and through the platform.
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { ChatAnthropic } from '@langchain/anthropic';
import { ChatOpenAI } from '@langchain/openai';
import { tool as langchainTool } from '@langchain/core/tools';
import { generateText, Output, streamText, tool } from 'ai';
import { z } from 'zod';

const models = { openai: 'gpt-4.1-mini', anthropic: 'claude-haiku-4-5' };
const place = z.object({ city: z.string() });
const getWeather = { description: 'Weather of a city', inputSchema: place };

const aiModels = {
  '@ai-sdk/openai': [
    'openai',
    (at) => createOpenAI({ baseURL: `${at.baseUrl}/v1`, apiKey: at.key }).chat(models.openai),
  ],
  '@ai-sdk/openai-compatible': [
    'openai',
    (at) =>
      createOpenAICompatible({
        name: 'platform',
        baseURL: `${at.baseUrl}/v1`,
        apiKey: at.key,
        supportsStructuredOutputs: true,
      })(models.openai),
  ],
  '@ai-sdk/anthropic': [
    'anthropic',
    (at) => createAnthropic({ baseURL: `${at.baseUrl}/v1`, apiKey: at.key })(models.anthropic),
  ],
};

const aiCalls = {
  text: { prompt: 'say hello', maxOutputTokens: 100 },
  sampling: { prompt: 'say hello', temperature: 0.2, stopSequences: ['END'] },
  tools: { prompt: 'get the weather', tools: { get_weather: tool(getWeather) } },
  'a forced tool': {
    prompt: 'get the weather',
    tools: { get_weather: tool(getWeather) },
    toolChoice: { type: 'tool', toolName: 'get_weather' },
  },
  'a conversation': {
    messages: [
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'two' },
      { role: 'user', content: 'three' },
    ],
  },
};

const aiCases = Object.entries(aiModels).flatMap(([client, [vendor, modelAt]]) =>
  Object.entries(aiCalls).flatMap(([feature, call]) =>
    [false, true].map((stream) => ({
      client,
      vendor,
      feature,
      stream,
      run: async (at) => {
        const options = { model: modelAt(at), maxRetries: 0, ...call };
        if (!stream) return (await generateText(options)).text;
        // The text of a failed stream rejects without its reason.
        const failures = [];
        const result = streamText({ ...options, onError: ({ error }) => void failures.push(error) });
        const text = await result.text.catch((error) => void failures.push(error));
        const [failure] = failures;
        if (failure !== undefined)
          throw failure instanceof Error ? failure : new Error(JSON.stringify(failure));
        return text;
      },
    })),
  ),
);

const langchainModels = {
  '@langchain/openai': [
    'openai',
    (at) =>
      new ChatOpenAI({
        model: models.openai,
        apiKey: at.key,
        maxRetries: 0,
        configuration: { baseURL: `${at.baseUrl}/v1` },
      }),
  ],
  '@langchain/anthropic': [
    'anthropic',
    (at) =>
      new ChatAnthropic({
        model: models.anthropic,
        apiKey: at.key,
        maxRetries: 0,
        maxTokens: 100,
        anthropicApiUrl: at.baseUrl,
      }),
  ],
};
const bound = langchainTool(() => 'sunny', {
  name: 'get_weather',
  description: 'Weather of a city',
  schema: place,
});
const langchainCalls = {
  text: (model) => model,
  tools: (model) => model.bindTools([bound]),
  'a forced tool': (model) => model.bindTools([bound], { tool_choice: 'get_weather' }),
};

const langchainCases = Object.entries(langchainModels).flatMap(([client, [vendor, modelAt]]) =>
  Object.entries(langchainCalls).flatMap(([feature, prepare]) =>
    [false, true].map((stream) => ({
      client,
      vendor,
      feature,
      stream,
      run: async (at) => {
        const model = prepare(modelAt(at));
        if (!stream) return (await model.invoke('say hello')).content;
        let text = '';
        for await (const chunk of await model.stream('say hello')) text += String(chunk.content);
        return text;
      },
    })),
  ),
);

export const frameworkCases = [...aiCases, ...langchainCases];

/** What the clients make of the simulated model, without any vendor. */
const structured = { prompt: 'city: Rome', output: Output.object({ schema: place }) };
export const simCases = [
  ...['@ai-sdk/openai', '@ai-sdk/openai-compatible'].flatMap((client) => [
    {
      client,
      feature: 'structured output',
      run: async (at) => {
        const model = simModel(client, at);
        const { output } = await generateText({ model, maxRetries: 0, ...structured });
        return output.city === 'Rome';
      },
    },
    {
      client,
      feature: 'tools that are called and answered',
      run: async (at) => {
        const weather = tool({ ...getWeather, execute: ({ city }) => `sunny in ${city}` });
        const { text, steps } = await generateText({
          model: simModel(client, at),
          maxRetries: 0,
          prompt: 'get weather, city: Rome',
          tools: { get_weather: weather },
          stopWhen: ({ steps: made }) => made.length >= 3,
        });
        return steps.length === 2 && text.includes('sunny in Rome');
      },
    },
  ]),
  {
    client: '@langchain/openai',
    feature: 'structured output',
    run: async (at) => {
      const model = new ChatOpenAI({
        model: 'sim.tools',
        apiKey: at.key,
        maxRetries: 0,
        configuration: { baseURL: `${at.baseUrl}/v1` },
      });
      const answer = await model.withStructuredOutput(place, { method: 'jsonSchema' }).invoke('city: Rome');
      const called = await model
        .withStructuredOutput(place, { method: 'functionCalling' })
        .invoke('city: Rome');
      return answer.city === 'Rome' && called.city === 'Rome';
    },
  },
  {
    client: '@langchain/anthropic',
    feature: 'structured output',
    run: async (at) => {
      const model = new ChatAnthropic({
        model: 'sim.tools',
        apiKey: at.key,
        maxRetries: 0,
        maxTokens: 100,
        anthropicApiUrl: at.baseUrl,
      });
      return (await model.withStructuredOutput(place).invoke('city: Rome')).city === 'Rome';
    },
  },
];

function simModel(client, at) {
  const options = { baseURL: `${at.baseUrl}/v1`, apiKey: at.key };
  if (client === '@ai-sdk/openai') return createOpenAI(options).chat('sim.tools');
  return createOpenAICompatible({ name: 'platform', supportsStructuredOutputs: true, ...options })(
    'sim.tools',
  );
}
