// A tenant with a little of everything, for pictures of the console and for a look around.
import type { TenantNode } from '../servers/node.js';
import { ask } from '../clients/direct-calls.js';

const questions = [
  'Where is my booking for Lisbon?',
  'Can I bring a bicycle on the ferry?',
  'The invoice shows two nights instead of one.',
  'Which terminal does the night train leave from?',
  'Please move my trip to the 14th.',
] as const;

/** Conversations, one of them with people, calls of models, and a call that fails. */
export async function showcase(node: TenantNode): Promise<void> {
  const { client, bootstrap } = node;
  const key = bootstrap.api_key;
  for (const [index, message] of questions.entries()) {
    await client.call('POST', `/api/v2/agents/${bootstrap.agent_id}/stream`, {
      key,
      body: {
        message,
        consumer_key: `guest-${index + 1}`,
        consumer_display_name: ['Ada Moreno', 'Ben Okafor', 'Chen Wei', 'Dana Novak', 'Emil Larsen'][index],
      },
    });
  }
  for (let count = 0; count < 12; count += 1)
    await ask(node, { model: 'sim.echo', query: `Summarise booking ${1_000 + count}.` });
  const { json } = await client.call('GET', '/api/v1/sessions', { key });
  const session = json.data[0]?.session_id as string | undefined;
  if (session !== undefined)
    await client.call('POST', `/api/v1/sessions/${session}/handoff`, { key, body: { reason: 'refund' } });
}
