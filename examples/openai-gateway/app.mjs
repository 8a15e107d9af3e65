// An existing program with OpenAI's package. Nothing in it knows of Troupe: the package reads OPENAI_BASE_URL and
// OPENAI_API_KEY from the environment.
import OpenAI from 'openai';

const openai = new OpenAI();

// A streamed answer.
const stream = await openai.chat.completions.create({
  model: process.env.MODEL ?? 'sim.echo',
  messages: [{ role: 'user', content: 'Say hello to the shop' }],
  stream: true,
});
process.stdout.write('streamed: ');
for await (const { choices } of stream) process.stdout.write(choices[0]?.delta?.content ?? '');
process.stdout.write('\n');

// A tool.
const tools = [
  {
    type: 'function',
    function: {
      name: 'get_stock',
      description: 'How many pieces of a product there are.',
      parameters: { type: 'object', properties: { product: { type: 'string' } }, required: ['product'] },
    },
  },
];
const messages = [{ role: 'user', content: 'Get the stock of rolls' }];
const model = process.env.TOOL_MODEL ?? 'sim.tools';
const asked = await openai.chat.completions.create({ model, messages, tools });
const [call] = asked.choices[0].message.tool_calls;
console.log(`tool: ${call.function.name} ${call.function.arguments}`);
messages.push(asked.choices[0].message, { role: 'tool', tool_call_id: call.id, content: '{"pieces": 42}' });
const answered = await openai.chat.completions.create({ model, messages, tools });
console.log(`answer: ${answered.choices[0].message.content}`);
console.log(`tokens of the last call: ${answered.usage.total_tokens}`);

// What the key may not do.
const refused = await openai.chat.completions
  .create({ model: 'sim.lorem-10', messages: [{ role: 'user', content: 'hello' }] })
  .catch((error) => error);
console.log(`another model: ${refused.status} ${refused.code}`);
