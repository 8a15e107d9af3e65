import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { api, take } from '../../../api/client';
import { queries, useKey } from '../../../api/queries';
import { useAllowed } from '../../../session/use-session';
import { Badge } from '../../../ui/badge';
import { Button } from '../../../ui/button';
import { CopyAs } from '../../../ui/copy-as';
import { FormProblem } from '../../../ui/field';
import { JsonField } from '../../../ui/json-field';
import { JsonView } from '../../../ui/json-view';
import { Card, Facts } from '../../../ui/page';
import { succeeded } from '../../../ui/toasts';
import { readable, UnreadableJson } from '../../../ui/unreadable-json';
import type { Trigger } from '../types';

const reasons: Readonly<Record<string, string>> = {
  disabled: 'the trigger is off',
  agent: 'the agent is not published',
  payload: 'the payload has no message',
  repeat: 'it repeats an earlier message',
  sender_access: 'the sender is not allowed',
  denylist: 'the person is on the denylist',
  session: 'people have taken the conversation over',
  quota: 'a limit is reached',
};

const samples = {
  webhook: { message: 'Hello' },
  email: { from: 'ada@example.com', subject: 'Hello', text: 'Where is my order?' },
  db_event: { id: 1 },
  schedule: {},
} as const;

/** What a payload would lead to, without running it; and a real run beside it. */
export function DryRun({ trigger }: { readonly trigger: Trigger }) {
  const [payload, setPayload] = useState<unknown>(samples[trigger.trigger_type]);
  const path = { id: trigger.id };
  const key = useKey('triggers', trigger.id);
  const mayInvoke = useAllowed('executions:create');
  const dry = useMutation({
    mutationFn: async () =>
      take(api.POST('/api/triggers/{id}/test', { params: { path }, body: readable({ payload }) })),
  });
  const run = useMutation({
    mutationFn: async () => {
      const body = (readable({ payload }).payload ?? {}) as Record<string, unknown>;
      return take(api.POST('/api/triggers/{id}/invoke', { params: { path }, body }));
    },
    onSuccess: async () => {
      succeeded('The trigger ran', 'See its executions.');
      await queries.invalidateQueries({ queryKey: key });
    },
  });
  const result = dry.data?.data;
  return (
    <div className="grid items-start gap-4 lg:grid-cols-2">
      <Card title="Payload">
        <div className="flex flex-col gap-3">
          <JsonField label="Sample payload" value={payload} onChange={setPayload} />
          <FormProblem error={dry.error ?? run.error} />
          <div className="flex flex-wrap justify-end gap-2">
            {!(payload instanceof UnreadableJson) && (
              <CopyAs
                request={{
                  method: 'POST',
                  path: `/api/triggers/${trigger.id}/test`,
                  body: { payload },
                  mcp: { tool: 'test_trigger', arguments: { trigger_id: trigger.id, payload } },
                }}
              />
            )}
            {mayInvoke && (
              <Button busy={run.isPending} onClick={() => run.mutate()}>
                Run it really
              </Button>
            )}
            <Button kind="primary" busy={dry.isPending} onClick={() => dry.mutate()}>
              Dry run
            </Button>
          </div>
        </div>
      </Card>
      <Card title="What would happen">
        {result === undefined ? (
          <p className="text-sm text-muted">The dry run makes every check and calls no model.</p>
        ) : (
          <div className="flex flex-col gap-4" role="status">
            <Facts
              facts={[
                [
                  'Result',
                  result.would_run ? (
                    <Badge tone="good">would run</Badge>
                  ) : (
                    <Badge tone="bad">
                      would not run: {reasons[result.blocked_by ?? ''] ?? result.blocked_by}
                    </Badge>
                  ),
                ],
                ['Message', result.query ?? 'none'],
                ['Conversation', result.session_id ?? 'a new one each time'],
              ]}
            />
            <JsonView value={result.context} label="context" />
            <JsonView value={result.response_preview} label="response" />
          </div>
        )}
      </Card>
    </div>
  );
}
