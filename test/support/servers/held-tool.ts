import { httpTool } from '../builders/published-agents.js';
import { answerJson, type HeardRequest, startToolServer } from './tool-servers.js';

/** A tool that answers when the test says so: a turn that uses it lasts that long, however slow the machine is. */
export interface HeldTool {
  /** What an agent needs for turns that its tool holds. The message of a turn must have the word `wait` in it. */
  readonly agent: { readonly model: string; readonly schemas: readonly object[] };
  /** The requests so far. */
  readonly heard: readonly HeardRequest[];
  /** Answers those that wait, and each later one at once. */
  release(): void;
}

export async function startHeldTool(t: Parameters<typeof startToolServer>[0]): Promise<HeldTool> {
  let answers: (() => void)[] | undefined = [];
  const tool = await startToolServer(t, (_request, response) => {
    const answer = (): void => answerJson(response, { waited: true });
    if (answers === undefined) answer();
    else answers.push(answer);
  });
  return {
    // The longest time that a tool may take.
    agent: { model: 'sim.tools', schemas: [httpTool('wait', tool.url, { timeout_ms: 120_000 })] },
    heard: tool.heard,
    release() {
      for (const answer of answers ?? []) answer();
      answers = undefined;
    },
  };
}
