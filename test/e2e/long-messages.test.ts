// Messages at the limits of the database, beside turns of other tenants.
import test from 'ava';
import { eventOf, startConversations } from '../support/servers/conversations.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

/** Of words with hyphens that are all different, each found as a whole and in two parts: more than an index takes. */
function wordsWithHyphens(): string {
  const letters = (first: number, number: number): string =>
    String.fromCodePoint(first + (number % 180), first + Math.floor(number / 180));
  const words = Array.from(
    { length: 33_333 },
    (_, number) => `${letters(0x4e00, number)}-${letters(0x6000, number)}`,
  );
  return words.join(' ');
}

const texts = { 'words with hyphens': wordsWithHyphens(), 'a mark between letters': 'a_'.repeat(100_000) };

for (const [kind, message] of Object.entries(texts)) {
  test(`a long message of ${kind} in a session completes, as do turns of other tenants beside it`, async (t) => {
    const [node, other] = [await shared.tenant(t), await shared.tenant(t)];
    const talk = await startConversations(node, 'sim.lorem-8-5');
    const { sessionId } = await talk.say('hello');
    const beside = await startConversations(other);
    const [long, short] = await Promise.all([
      talk.say({ message, session_id: sessionId }),
      beside.say('hello'),
    ]);
    t.is(eventOf(long, 'done')?.['outcome'], 'COMPLETED');
    t.is(eventOf(short, 'done')?.['outcome'], 'COMPLETED');
    const { data } = await talk.get(`/api/v1/executions/${long.executionId}`);
    t.is(data.status, 'completed');
    t.is((await talk.get(`/api/v1/sessions/${sessionId}/messages`)).data.length, 4);
  });
}
