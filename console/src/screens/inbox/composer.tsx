import { useMutation } from '@tanstack/react-query';
import { newIdempotencyKey } from '@troupe/client';
import { type KeyboardEvent, useState } from 'react';
import { api, take } from '../../api/client';
import { useAllowed, useSession } from '../../session/use-session';
import { Button } from '../../ui/button';
import { FormProblem, inputClass } from '../../ui/field';
import { useUnsaved } from '../../ui/unsaved';
import type { Conversation } from './conversations';

/**
 * What is written and not sent yet, by person and conversation: who looks at another conversation, or signs in anew, finds
 * it again.
 */
const unsent = new Map<string, string>();

/** A person's own answer, once the conversation is taken over. */
export function Composer({
  session,
  changed,
}: {
  readonly session: Conversation;
  readonly changed: () => void;
}) {
  const allowed = useAllowed('messages:send');
  const id = session.session_id;
  const place = `${useSession().user.id} ${id}`;
  const [text, setText] = useState(() => unsent.get(place) ?? '');
  useUnsaved(text !== '', { isKept: true });
  const write = (next: string): void => {
    if (next === '') unsent.delete(place);
    else unsent.set(place, next);
    setText(next);
  };
  // A repeat after a lost answer is the same message.
  const [messageKey, setMessageKey] = useState(newIdempotencyKey);
  const sending = useMutation({
    mutationFn: (message: string) =>
      take(
        api.POST('/api/v1/sessions/{id}/manual-message', {
          params: { path: { id }, header: { 'idempotency-key': messageKey } },
          body: { message },
        }),
      ),
    // What is written meanwhile is the next message.
    onError: (_, message) => {
      // The answer may come after the person went to another conversation.
      const present = unsent.get(place) ?? '';
      const isEmpty = present.trim() === '';
      write(isEmpty ? message : `${message}\n${present}`);
      if (!isEmpty) setMessageKey(newIdempotencyKey());
    },
    onSuccess: () => {
      setMessageKey(newIdempotencyKey());
      changed();
    },
  });
  if (!allowed) return null;
  if (session.control_mode === 'engaged') {
    return (
      <p className="border-t border-line bg-surface px-4 py-3 text-sm text-muted">
        The agent answers. Take the conversation over to write yourself.
      </p>
    );
  }
  const send = (): void => {
    if (text.trim() === '' || sending.isPending) return;
    sending.mutate(text.trim());
    write('');
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    send();
  };
  return (
    <form
      className="flex flex-col gap-2 border-t border-line bg-surface p-3"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <textarea
        aria-label="Your answer"
        placeholder="Your answer, sent by the channel that the last message came in by"
        className={`${inputClass} h-auto min-h-18 resize-y py-1.5`}
        maxLength={20_000}
        value={text}
        onChange={({ target }) => {
          write(target.value);
          if (!sending.isError) return;
          // Another text is another message: under the same key the node would take it for a repeat.
          sending.reset();
          setMessageKey(newIdempotencyKey());
        }}
        onKeyDown={onKeyDown}
      />
      <FormProblem error={sending.error} />
      <div className="flex items-center justify-end gap-3">
        <span className="text-xs text-muted max-sm:hidden">Ctrl+Enter sends</span>
        <Button type="submit" kind="primary" busy={sending.isPending} disabled={text.trim() === ''}>
          Send
        </Button>
      </div>
    </form>
  );
}
