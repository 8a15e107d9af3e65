/** What sub-agents did within a step, as the answers show it. */
import { z } from 'zod';

const recorded = z.object({
  number: z.number(),
  kind: z.string(),
  name: z.string(),
  state: z.string(),
  startedAt: z.string(),
  finishedAt: z.string().nullable(),
  agentId: z.string().optional(),
  get steps() {
    return z.array(recorded).optional();
  },
});
const call = recorded.pick({ agentId: true, steps: true });

export const subAgentStep = z.record(z.string(), z.unknown());

type Shown = z.output<typeof subAgentStep>;

/** Nothing for a step that asked no agent. */
export function subAgentSteps(detail: unknown): { readonly agent_id?: string; readonly steps?: Shown[] } {
  const { success, data } = call.safeParse(detail);
  return success ? below(data) : {};
}

function below({ agentId, steps }: z.output<typeof call>): {
  readonly agent_id?: string;
  readonly steps?: Shown[];
} {
  if (steps === undefined) return {};
  return {
    ...(agentId !== undefined && { agent_id: agentId }),
    steps: steps.map(({ startedAt, finishedAt, agentId: agent, steps: inner, ...step }) => ({
      ...step,
      started_at: startedAt,
      finished_at: finishedAt,
      ...below({ agentId: agent, steps: inner }),
    })),
  };
}
