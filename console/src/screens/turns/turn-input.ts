import { useQuery } from '@tanstack/react-query';
import { api, take } from '../../api/client';
import { useKey } from '../../api/queries';
import type { Execution } from './turn-data';

/** What a turn began with, as far as it is kept. */
export interface TurnInput {
  readonly system: string;
  readonly history: readonly { readonly role: 'user' | 'assistant'; readonly content: string }[];
  readonly message: string;
}

/** Put together from the conversation and the agent as it is now. */
export function useTurnInput(execution: Execution) {
  const { id, session_id: sessionId, agent_id: agentId } = execution;
  return useQuery({
    queryKey: useKey('turn input', id),
    queryFn: async ({ signal }): Promise<TurnInput> => {
      const messages = api.GET('/api/v1/sessions/{id}/messages', {
        params: { path: { id: sessionId ?? '' }, query: { order: 'desc', limit: 100 } },
        signal,
      });
      const agent = api.GET('/api/agents/{id}', { params: { path: { id: agentId } }, signal });
      const [{ data: newestFirst }, { data: definition }] = await Promise.all([take(messages), take(agent)]);
      const all = newestFirst.toReversed();
      const at = all.findIndex(({ execution_id: one, role }) => one === id && role === 'user');
      return {
        system: definition.llm_config.system_prompt ?? '',
        history: all
          .slice(0, Math.max(0, at))
          .filter(({ content }) => content !== '')
          .slice(-20)
          .map(({ role, content }) => ({ role, content })),
        message: all[at]?.content ?? '',
      };
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
}
