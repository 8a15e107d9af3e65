import { useMutation } from '@tanstack/react-query';
import { Hand, Pause, Play, Square } from 'lucide-react';
import { useState } from 'react';
import { api, take } from '../../api/client';
import { useAllowed } from '../../session/use-session';
import { Button } from '../../ui/button';
import { failed, succeeded } from '../../ui/toasts';
import type { Conversation } from './conversations';
import { TakeOverDialog } from './take-over-dialog';

/** Take over, suspend, return to the agent, and cancel the running turn, as far as the role includes it. */
export function ConversationActions({
  session,
  running,
  changed,
}: {
  readonly session: Conversation;
  readonly running: boolean;
  readonly changed: () => void;
}) {
  const mayControl = useAllowed('sessions:control');
  const mayCancel = useAllowed('sessions:cancel');
  const [asking, setAsking] = useState<'handoff' | 'suspend' | undefined>(undefined);
  const path = { id: session.session_id };
  const resuming = useMutation({
    mutationFn: () => take(api.POST('/api/v1/sessions/{id}/resume', { params: { path }, body: {} })),
    onSuccess: changed,
    onError: (error) => failed('The conversation was not returned', error),
  });
  const cancelling = useMutation({
    mutationFn: () => take(api.POST('/api/v1/sessions/{id}/cancel', { params: { path }, body: {} })),
    onSuccess: ({ data: { cancelled } }) => {
      succeeded(cancelled ? 'The turn was cancelled' : 'No turn was running');
      changed();
    },
    onError: (error) => failed('The turn was not cancelled', error),
  });
  const { control_mode: mode, control_metadata: control } = session;
  return (
    <div className="flex flex-wrap items-center gap-2">
      {mayCancel && running && (
        <Button
          busy={cancelling.isPending}
          onClick={() => cancelling.mutate()}
          icon={<Square size={14} aria-hidden />}
        >
          Cancel turn
        </Button>
      )}
      {mayControl && (mode === 'engaged' || control.kind === 'suspend') && (
        <Button
          kind={mode === 'engaged' ? 'primary' : 'secondary'}
          onClick={() => setAsking('handoff')}
          icon={<Hand size={14} aria-hidden />}
        >
          Take over
        </Button>
      )}
      {mayControl && mode === 'engaged' && (
        <Button onClick={() => setAsking('suspend')} icon={<Pause size={14} aria-hidden />}>
          Suspend
        </Button>
      )}
      {mayControl && mode === 'manual_handoff' && (
        <Button
          kind="primary"
          busy={resuming.isPending}
          onClick={() => resuming.mutate()}
          icon={<Play size={14} aria-hidden />}
        >
          Return to agent
        </Button>
      )}
      {asking !== undefined && (
        <TakeOverDialog
          verb={asking}
          sessionId={session.session_id}
          onClose={() => setAsking(undefined)}
          changed={changed}
        />
      )}
    </div>
  );
}
