import {
  type GetPromptResult,
  type Prompt,
  ProtocolError,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server';
import { didYouMean } from '../../kernel/closest-name.js';

interface PromptDeclaration extends Prompt {
  readonly text: (args: Readonly<Record<string, string>>) => string;
}

const declarations: readonly PromptDeclaration[] = [
  {
    name: 'debug_trigger',
    title: 'Debug a failing trigger',
    description: 'Find out why a trigger fails, and what to change.',
    arguments: [{ name: 'trigger_id', description: 'The trigger; see list_triggers.', required: true }],
    text: ({ trigger_id: id }) => `The trigger ${id} fails. Find out why and say what to change.
1. Read it with get_trigger: is it enabled, does its source report an error, does its agent exist?
2. Read its numbers with get_trigger_stats.
3. List its failed executions with list_trigger_executions (status failed) and read the newest three with get_trigger_execution.
4. If messages do not arrive at all, try test_trigger with a sample payload and read blocked_by.
5. If turns succeed but answers do not arrive, read list_dead_letters.
Name the cause with the evidence for it, then the smallest change that fixes it. Change nothing without being told to.`,
  },
  {
    name: 'explain_slow_turn',
    title: 'Explain a slow turn',
    description: 'Find out where the time of a turn went.',
    arguments: [{ name: 'execution_id', description: 'The execution; see list_executions.', required: true }],
    text: ({ execution_id: id }) => `The turn ${id} was slow. Find out where its time went.
1. Read it with get_execution: its steps with their times, its tools, tokens, outcome and the limit that ended it.
2. Compare it with other turns of its agent (list_executions with agent_id) and with get_telemetry_report (loopgraph) for the day.
3. Read the agent with get_agent: model, memory and tools.
Give a table of the phases with their share of the time, name the largest, and propose what would make it faster.`,
  },
  {
    name: 'review_agent_changes',
    title: 'Review what an agent changed between versions',
    description: 'Explain the difference of two versions of an agent and its risks.',
    arguments: [
      { name: 'agent_id', description: 'The agent; see list_agents.', required: true },
      { name: 'from', description: 'The earlier version; the one before the last by default.' },
      { name: 'to', description: 'The later version; the draft by default.' },
    ],
    text: ({
      agent_id: id,
      from,
      to,
    }) => `Review the changes of the agent ${id}${from === undefined ? '' : ` from version ${from}`}${to === undefined ? '' : ` to ${to}`}.
1. List its versions with list_agent_versions and compare them with compare_agent_versions.
2. For each change say in one sentence what users will notice.
3. Look for risks: a prompt that contradicts itself, a tool without a description, a model outside the plan, a secret that is missing. validate_agent finds some.
End with a recommendation: publish, change first, or roll back.`,
  },
];

export const promptList: Prompt[] = declarations.map(({ name, title, description, arguments: args }) => {
  return { name, title, description, arguments: args };
});

export function promptOf(name: string, args: Readonly<Record<string, string>>): GetPromptResult {
  const found = declarations.find((one) => one.name === name);
  if (found === undefined) {
    const hint = didYouMean(
      name,
      promptList.map((one) => one.name),
    );
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `There is no prompt ${name.slice(0, 100)}.${hint}`,
    );
  }
  for (const { name: argument, required } of found.arguments ?? []) {
    if (required === true && (args[argument] ?? '') === '')
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `The prompt ${name} needs the argument ${argument}.`,
      );
  }
  return {
    description: found.description ?? '',
    messages: [{ role: 'user', content: { type: 'text', text: found.text(args) } }],
  };
}
