import { getRouteApi, Link } from '@tanstack/react-router';
import { useAgentNames } from '../../../api/agent-names';
import { useAllowed } from '../../../session/use-session';
import { CopyAs } from '../../../ui/copy-as';
import { Page } from '../../../ui/page';
import { Tabs } from '../../../ui/tabs';
import { settingAt } from '../config';
import { Connect } from '../connect';
import type { TriggerTab } from '../routes';
import { State } from '../triggers';
import { type Config, type Trigger, typeNames } from '../types';
import { Buffers } from './buffers';
import { Deliveries } from './deliveries';
import { DryRun } from './dry-run';
import { Executions } from './executions';
import { SecretCard } from './secret-card';
import { Settings } from './settings';
import { TriggerActions } from './trigger-actions';

const route = getRouteApi('/frame/triggers/$triggerId');

export function TriggerPage({ trigger }: { readonly trigger: Trigger }) {
  const { tab = 'executions' } = route.useSearch();
  const navigate = route.useNavigate();
  const names = useAgentNames();
  const maySeeDeliveries = useAllowed('messages:send');
  const mayUpdate = useAllowed('triggers:update');
  const { id, agent_id: agentId, trigger_type: type, source } = trigger;
  const config = trigger.trigger_config as Config;
  const hasSecret = type === 'webhook' || settingAt(config, 'execution.callback') !== undefined;
  const tabs = [
    { value: 'executions', title: 'Executions', content: <Executions trigger={trigger} /> },
    ...(maySeeDeliveries
      ? [{ value: 'deliveries', title: 'Deliveries', content: <Deliveries triggerId={id} /> } as const]
      : []),
    {
      value: 'connect',
      title: type === 'schedule' ? 'Next runs' : 'Connect',
      content: (
        <div className="flex max-w-3xl flex-col gap-4">
          <Connect
            id={id}
            type={type}
            url={trigger.webhook_url}
            config={config}
            nextRuns={trigger.next_runs ?? []}
          />
          {hasSecret && <SecretCard triggerId={id} />}
        </div>
      ),
    },
    ...(mayUpdate
      ? [{ value: 'try', title: 'Dry run', content: <DryRun trigger={trigger} /> } as const]
      : []),
    ...(type === 'webhook'
      ? [{ value: 'buffers', title: 'Buffers', content: <Buffers trigger={trigger} /> } as const]
      : []),
    { value: 'settings', title: 'Settings', content: <Settings trigger={trigger} />, keeps: true },
  ] as const;
  return (
    <Page
      title={trigger.name}
      description={
        <span className="flex flex-wrap items-center gap-2">
          <State trigger={trigger} />
          <span>{typeNames[type]} for</span>
          <Link to="/agents/$agentId" params={{ agentId }} className="text-accent hover:underline">
            {names.get(agentId) ?? 'an archived agent'}
          </Link>
        </span>
      }
      actions={
        <>
          <CopyAs
            request={{
              method: 'GET',
              path: `/api/triggers/${id}/executions?limit=20`,
              mcp: { tool: 'list_trigger_executions', arguments: { trigger_id: id, limit: 20 } },
            }}
          />
          <TriggerActions trigger={trigger} />
        </>
      }
    >
      {source !== undefined && source.failures > 0 && (
        <p role="alert" className="rounded-md bg-bad-soft px-3 py-2 text-sm wrap-anywhere text-bad">
          Reading the source failed {source.failures} times in a row: {source.last_error}
        </p>
      )}
      <Tabs
        label="Parts of the trigger"
        value={tab}
        onChange={(next: TriggerTab) => void navigate({ search: { tab: next }, replace: true })}
        tabs={tabs}
      />
    </Page>
  );
}
