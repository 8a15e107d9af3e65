// What the step of a sub-agent shows of it.
import test from 'ava';
import { subAgentSteps } from '../../../../src/automation/management/sub-agent-steps.js';

const times = { startedAt: '2026-11-23T10:00:00.000Z', finishedAt: null };
const shownTimes = { started_at: '2026-11-23T10:00:00.000Z', finished_at: null };
const agentId = '11111111-1111-4111-8111-111111111111';

test('the steps of sub-agents are shown at every depth, without their texts', (t) => {
  const step = { number: 1, kind: 'tool', name: 'ask', state: 'finished' };
  const inner = { number: 2, kind: 'model', name: 'agent.tool-loop', state: 'finished' };
  const detail = {
    step: 'tool',
    result: 'a word',
    agentId,
    steps: [{ ...step, ...times, agentId, steps: [{ ...inner, ...times }] }],
  };
  t.deepEqual(subAgentSteps(detail), {
    agent_id: agentId,
    steps: [{ ...step, ...shownTimes, agent_id: agentId, steps: [{ ...inner, ...shownTimes }] }],
  });
});

test('a step that asked no agent shows nothing', (t) => {
  for (const detail of [null, undefined, {}, { step: 'model', parts: [] }, { steps: 'none' }])
    t.deepEqual(subAgentSteps(detail), {});
});
