import { useAgentNames } from '../api/agent-names';

/** The name of an agent, or the end of its id while the name is not known. */
export function AgentName({ id }: { readonly id: string }) {
  return useAgentNames().get(id) ?? id.slice(-6);
}
