// Vectors, lists of models and counts of tokens: the simulated models answer, so that no vendor is needed.
import { OpenAIEmbeddings } from '@langchain/openai';
import { embedMany } from 'ai';
import { aiOpenai, anthropic, failureOf, openai, wholeCases } from './clients.mjs';

const model = 'sim.tools';
const embedder = 'sim.embed';

const vectors = {
  'embeddings, which the client asks for in base64': async (at) => {
    const { data, usage } = await openai(at).embeddings.create({ model: embedder, input: ['a b', 'c'] });
    return data.length === 2 && isUnit(data[1].embedding) && usage.prompt_tokens > 0;
  },
  'embeddings as numbers': async (at) => {
    const body = { model: embedder, input: 'a b' };
    const { embeddings } = openai(at);
    const [numbers, packed] = await Promise.all([
      embeddings.create({ ...body, encoding_format: 'float' }),
      embeddings.create({ ...body, encoding_format: 'base64' }),
    ]);
    const unpacked = new Float32Array(
      Uint8Array.from(Buffer.from(packed.data[0].embedding, 'base64')).buffer,
    );
    return sameNumbers(numbers.data[0].embedding, [...unpacked]);
  },
  'embeddings of chosen dimensions': async (at) => {
    const { data } = await openai(at).embeddings.create({ model: embedder, input: 'a b', dimensions: 8 });
    return data[0].embedding.length === 8;
  },
};

const openaiModels = {
  'models.list and models.retrieve': async (at) => {
    const client = openai(at);
    const ids = [];
    for await (const { id } of client.models.list()) ids.push(id);
    const one = await client.models.retrieve(model);
    return ids.includes(model) && one.id === model && one.object === 'model';
  },
  'an unknown model': async (at) => {
    const client = openai(at);
    const called = client.chat.completions.create({
      model: 'sim.tols',
      messages: [{ role: 'user', content: 'x' }],
    });
    const [read, asked] = [await failureOf(client.models.retrieve('sim.tols')), await failureOf(called)];
    return read?.status === 404 && asked?.message.includes(model) === true;
  },
};

const anthropicModels = {
  'models.list and models.retrieve': async (at) => {
    const client = anthropic(at);
    const ids = [];
    // Pages of two, so that the client asks for the next ones.
    for await (const { id } of client.models.list({ limit: 2 })) ids.push(id);
    const one = await client.models.retrieve(model);
    return ids.length > 2 && ids.includes(model) && one.id === model && one.type === 'model';
  },
  'messages.countTokens': async (at) => {
    const messages = [{ role: 'user', content: 'one two three' }];
    const { input_tokens: tokens } = await anthropic(at).messages.countTokens({ model, messages });
    const { usage } = await anthropic(at).messages.create({ model, messages, max_tokens: 10 });
    return tokens > 0 && tokens === usage.input_tokens;
  },
  'the request id of an error': async (at) => {
    const error = await failureOf(anthropic(at).models.retrieve('sim.tols'));
    return error?.status === 404 && typeof error.requestID === 'string' && error.requestID !== '';
  },
};

const frameworkVectors = [
  {
    client: '@ai-sdk/openai',
    feature: 'embeddings',
    run: async (at) => {
      const { embeddings } = await embedMany({
        model: aiOpenai(at).textEmbeddingModel(embedder),
        values: ['a b', 'c'],
        maxRetries: 0,
      });
      return embeddings.length === 2 && embeddings.every(isUnit);
    },
  },
  {
    client: '@langchain/openai',
    feature: 'embeddings',
    run: async (at) => {
      const made = new OpenAIEmbeddings({
        model: embedder,
        apiKey: at.key,
        maxRetries: 0,
        configuration: { baseURL: `${at.baseUrl}/v1` },
      });
      const list = await made.embedDocuments(['a b', 'c']);
      return list.length === 2 && list.every(isUnit);
    },
  },
];

export const modelCases = [
  ...wholeCases('openai', { ...vectors, ...openaiModels }),
  ...wholeCases('@anthropic-ai/sdk', anthropicModels),
  ...frameworkVectors,
];

function isUnit(numbers) {
  return Math.abs(numbers.reduce((sum, one) => sum + one * one, 0) - 1) < 1e-3;
}

function sameNumbers(some, others) {
  return some.length === others.length && some.every((one, index) => Math.abs(one - others[index]) < 1e-6);
}
