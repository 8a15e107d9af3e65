import { useMutation, type UseMutationResult } from '@tanstack/react-query';
import { api, take } from '../../../api/client';
import { ApiError } from '../../../api/errors';
import { queries, useKey } from '../../../api/queries';
import { Button } from '../../../ui/button';
import { FormProblem } from '../../../ui/field';
import type { Written } from '../../../ui/form/draft';
import { succeeded } from '../../../ui/toasts';
import { readable } from '../../../ui/unreadable-json';
import type { AgentTab } from '../routes';
import type { Agent } from '../types';
import { type Draft, draftOf, type DraftState, patchOf } from './draft';

type Saving = UseMutationResult<{ readonly data: Agent }, unknown, Written<Draft>>;

/** `show` opens the part of the agent that a refused field is in. */
export function useSave(agent: Agent, state: DraftState, show: (tab: AgentTab) => void): Saving {
  const key = useKey('agents');
  return useMutation({
    mutationFn: async (sent) =>
      take(
        api.PATCH('/api/agents/{id}', {
          params: { path: { id: agent.id } },
          body: readable(patchOf(sent)),
        }),
      ),
    onSuccess: async ({ data }, sent) => {
      state.settle(sent, draftOf(data));
      await queries.invalidateQueries({ queryKey: key });
      succeeded('The working copy is saved', 'It serves after you publish it.');
    },
    onError: (error) => {
      const name = error instanceof ApiError ? error.field?.name : undefined;
      if (name !== undefined) show(tabOf(name));
    },
  });
}

function tabOf(field: string): AgentTab {
  if (field === 'llm_config.system_prompt') return 'prompt';
  if (field.startsWith('llm_config')) return 'model';
  return field.startsWith('metadata.') ? 'memory' : 'details';
}

/** Shown while something is written that is not saved. Leaving the page asks first (`useDraft`). */
export function SaveBar({ state, save }: { readonly state: DraftState; readonly save: Saving }) {
  if (!state.isChanged) return null;
  return (
    <div className="sticky bottom-3 z-10 flex flex-col gap-2 rounded-lg border border-line-strong bg-raised p-3 shadow-lg">
      <FormProblem error={save.error} />
      <div className="flex items-center justify-between gap-3">
        <span className="text-sm text-muted">Not saved</span>
        <span className="flex gap-2">
          <Button
            onClick={() => {
              state.discard();
              save.reset();
            }}
          >
            Discard
          </Button>
          <Button kind="primary" type="submit" busy={save.isPending}>
            Save
          </Button>
        </span>
      </div>
    </div>
  );
}
