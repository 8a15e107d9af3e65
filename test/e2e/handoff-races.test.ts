import test from 'ava';
import { setTimeout as delay } from 'node:timers/promises';
import { startConversations } from '../support/servers/conversations.js';
import { startTestNode } from '../support/servers/node.js';
import {
  afterThisTurn,
  framesOf,
  type OrderedFrame,
  readInOrder,
} from '../support/clients/ordered-reader.js';

const races = 1_000;
const atOnce = 50;
const textTypes = new Set(['delta', 'thinking', 'response']);

interface Race {
  readonly sessionId: string;
  readonly executionId: string;
  readonly frames: readonly OrderedFrame[];
  /** Text that arrived after the answer to the handoff. */
  readonly late: readonly OrderedFrame[];
}

test('no text follows the answer to a handoff, in a thousand races with ending turns', async (t) => {
  t.timeout(600_000);
  const node = await startTestNode(t);
  const talk = await startConversations(node);
  const agents = [talk.agentId, await talk.agent('sim.lorem-6-2'), await talk.agent('sim.lorem-40-1')];
  const key = node.bootstrap.api_key;
  const url = node.client.baseUrl;
  const api = async (method: string, path: string): Promise<string> => {
    const response = await fetch(`${url}${path}`, { method, headers: { 'x-api-key': key } });
    const text = await response.text();
    if (response.status === 503) {
      // A node that lacks a core refuses, and says when to come back.
      await delay(1_000 * Number(response.headers.get('retry-after') ?? 1));
      return api(method, path);
    }
    if (response.status !== 200) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text;
  };

  async function race(number: number): Promise<Race> {
    const frames: OrderedFrame[] = [];
    const late: OrderedFrame[] = [];
    let answered = false;
    let handoff: Promise<void> = Promise.resolve();
    const agentId = agents[number % agents.length] ?? '';
    await readInOrder({ url, key, agentId }, `race ${number} of a good many`, (frame) => {
      if (frames.length === 0) {
        handoff = (async () => {
          await delay(Math.random() * 300);
          await api('POST', `/api/v1/sessions/${String(frame.data['session_id'])}/handoff`);
          await afterThisTurn();
          answered = true;
        })();
      }
      frames.push(frame);
      if (answered && textTypes.has(frame.type)) late.push(frame);
    });
    await handoff;
    const { session_id: sessionId, execution_id: executionId } = frames[0]?.data ?? {};
    return { sessionId: String(sessionId), executionId: String(executionId), frames, late };
  }

  async function checkRace({ sessionId, executionId, frames, late }: Race): Promise<string> {
    t.deepEqual(late, [], 'nothing is said when the agent was taken out');
    const stored = framesOf(await api('GET', `/api/v1/executions/${executionId}/stream`));
    const dones = stored.filter(({ type }) => type === 'done');
    t.is(dones.length, 1);
    t.is(frames.filter(({ type }) => type === 'done').length, 1);
    const outcome = String(dones[0]?.data['outcome']);
    const told = stored.filter(({ type }) => textTypes.has(type));
    // In the log the handoff precedes the text that it withdrew: none of it is read again.
    if (outcome === 'SUSPENDED') t.deepEqual(told, []);
    else t.is(told.filter(({ type }) => type === 'response').length, 1);
    const { data } = JSON.parse(await api('GET', `/api/v1/sessions/${sessionId}/messages`)) as {
      data: { role: string; content: string }[];
    };
    const kept = data.find(({ role }) => role === 'assistant')?.content ?? '';
    const read = frames
      .map(({ type, data: { content } }) => (type === 'delta' ? String(content) : ''))
      .join('');
    t.true(kept.startsWith(read), 'what somebody read is kept');
    return outcome;
  }

  const outcomes = new Map<string, number>();
  for (let number = 0; number < races; number += atOnce) {
    const batch = await Promise.all(Array.from({ length: atOnce }, (_, index) => race(number + index)));
    // This test is not about the key's windows.
    node.passMs(61_000);
    for (const outcome of await Promise.all(batch.map(checkRace))) {
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
    node.passMs(61_000);
  }
  t.log(Object.fromEntries(outcomes));
  t.deepEqual([...outcomes.keys()].toSorted(), ['COMPLETED', 'SUSPENDED'], 'both won at times');
});
