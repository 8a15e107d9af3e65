import { Menu } from '@base-ui/react/menu';
import { useNavigate } from '@tanstack/react-router';
import { ChevronDown } from 'lucide-react';
import { useState } from 'react';
import { api, take } from '../../api/client';
import { queries, useKey } from '../../api/queries';
import { useAllowed } from '../../session/use-session';
import { Button, buttonClass } from '../../ui/button';
import { Confirm } from '../../ui/confirm';
import { menuItemClass, MenuPopup } from '../../ui/menu';
import { failed, succeeded } from '../../ui/toasts';
import { Publish } from './publish';
import type { Agent } from './types';

type Action = 'unpublish' | 'archive' | 'publish';

export function AgentActions({ agent, isChanged }: { readonly agent: Agent; readonly isChanged: boolean }) {
  const [action, setAction] = useState<Action>();
  const key = useKey('agents');
  const navigate = useNavigate();
  const mayPublish = useAllowed('agents:publish');
  const mayDelete = useAllowed('agents:delete');
  const mayCreate = useAllowed('agents:create');
  const path = { id: agent.id };
  const refresh = () => queries.invalidateQueries({ queryKey: key });
  const close = () => setAction(undefined);
  const isArchived = agent.status === 'archived';

  const duplicate = async (): Promise<void> => {
    const { data } = await take(api.POST('/api/agents/{id}/duplicate', { params: { path }, body: {} }));
    await refresh();
    succeeded('The agent was copied', 'This is the copy, a draft.');
    await navigate({ to: '/agents/$agentId', params: { agentId: data.id } });
  };
  const restore = async (): Promise<void> => {
    await take(api.POST('/api/agents/{id}/restore', { params: { path } }));
    await refresh();
    succeeded('The agent is a draft again');
  };
  const items = [
    mayCreate && ['Duplicate', () => void duplicate().catch(fault('Duplicating failed'))],
    mayPublish && agent.status === 'published' && ['Unpublish', () => setAction('unpublish')],
    mayDelete && !isArchived && ['Archive', () => setAction('archive')],
    mayDelete && isArchived && ['Restore', () => void restore().catch(fault('Restoring failed'))],
  ].filter((item) => item !== false) as [string, () => void][];

  return (
    <>
      {items.length > 0 && (
        <Menu.Root>
          <Menu.Trigger className={buttonClass()}>
            More <ChevronDown size={14} aria-hidden />
          </Menu.Trigger>
          <MenuPopup>
            {items.map(([title, run]) => (
              <Menu.Item key={title} className={menuItemClass} onClick={run}>
                {title}
              </Menu.Item>
            ))}
          </MenuPopup>
        </Menu.Root>
      )}
      {mayPublish && !isArchived && (
        <Button
          kind="primary"
          disabled={isChanged}
          title={isChanged ? 'Save first: the saved working copy is what is published' : undefined}
          onClick={() => setAction('publish')}
        >
          Publish
        </Button>
      )}
      <Publish agent={agent} open={action === 'publish'} onClose={close} />
      <Confirm
        open={action === 'unpublish'}
        onClose={close}
        title={`Unpublish ${agent.commercial_name}?`}
        verb="Unpublish"
        action={async () => {
          await take(api.POST('/api/agents/{id}/unpublish', { params: { path } }));
          await refresh();
        }}
      >
        New messages are refused until it is published again. Its conversations stay.
      </Confirm>
      <Confirm
        open={action === 'archive'}
        onClose={close}
        title={`Archive ${agent.commercial_name}?`}
        verb="Archive"
        action={async () => {
          await take(api.DELETE('/api/agents/{id}', { params: { path } }));
          await refresh();
        }}
      >
        It answers nobody and leaves the list. An owner or admin can restore it as a draft.
      </Confirm>
    </>
  );
}

const fault = (title: string) => (error: unknown) => failed(title, error);
