import { getRouteApi } from '@tanstack/react-router';
import { useAllowed } from '../../session/use-session';
import { StatusBadge } from '../../ui/badge';
import { CopyAs } from '../../ui/copy-as';
import { Page } from '../../ui/page';
import { Tabs } from '../../ui/tabs';
import { AgentActions } from './agent-actions';
import { Details } from './editor/details';
import { type DraftState, useAgentDraft } from './editor/draft';
import { Memory } from './editor/memory';
import { ModelSettings } from './editor/model-settings';
import { Prompt } from './editor/prompt';
import { SaveBar, useSave } from './editor/save-bar';
import { Playground } from './playground/playground';
import type { AgentTab } from './routes';
import { Tools } from './tools/tools';
import type { Agent } from './types';
import { Versions } from './versions/versions';

const route = getRouteApi('/frame/agents/$agentId');

/** The working copy on the left, a conversation with it on the right. */
export function AgentPage({ agent }: { readonly agent: Agent }) {
  const { tab = 'prompt' } = route.useSearch();
  const navigate = route.useNavigate();
  const mayWrite = useAllowed('agents:update') && agent.status !== 'archived';
  const state = useAgentDraft(agent, mayWrite);
  const show = (next: AgentTab): void => void navigate({ search: { tab: next }, replace: true });
  const save = useSave(agent, state, show);
  return (
    <Page
      title={agent.commercial_name}
      description={<Facts agent={agent} />}
      actions={
        <>
          <CopyAs
            request={{
              method: 'POST',
              path: `/api/v2/agents/${agent.id}/stream`,
              body: { message: 'Hello' },
              mcp: { tool: 'chat_with_agent', arguments: { agent_id: agent.id, message: 'Hello' } },
            }}
          />
          <AgentActions agent={agent} isChanged={state.isChanged} />
        </>
      }
    >
      <div className="grid min-w-0 items-start gap-6 xl:grid-cols-[minmax(0,1fr)_25rem]">
        <form
          className="flex min-w-0 flex-col gap-4"
          onSubmit={(event) => {
            event.preventDefault();
            if (state.isChanged) save.mutate(state.written);
          }}
        >
          <Tabs
            label="Parts of the agent"
            value={tab}
            onChange={show}
            tabs={tabsOf(agent, state, save.error)}
          />
          {mayWrite && <SaveBar state={state} save={save} />}
        </form>
        <Playground agent={agent} draft={state.draft} />
      </div>
    </Page>
  );
}

function Facts({ agent }: { readonly agent: Agent }) {
  return (
    <span className="flex flex-wrap items-center gap-2">
      <code className="font-mono text-xs">{agent.name}</code>
      <StatusBadge status={agent.status} />
      {agent.published_version !== null && <span>version {agent.published_version} serves</span>}
    </span>
  );
}

function tabsOf(agent: Agent, state: DraftState, error: unknown) {
  const part = { state, error };
  return [
    { value: 'prompt', title: 'Prompt', content: <Prompt {...part} /> },
    { value: 'model', title: 'Model', content: <ModelSettings {...part} /> },
    { value: 'tools', title: 'Tools', content: <Tools agent={agent} /> },
    { value: 'memory', title: 'Memory and limits', content: <Memory {...part} /> },
    { value: 'details', title: 'Details', content: <Details {...part} /> },
    { value: 'versions', title: 'Versions', content: <Versions agent={agent} /> },
  ] as const;
}
