import { useEffect, useRef } from 'react';
import { session } from '../../session/session';
import { useValue } from '../../session/value';

/** What was being written when the sign-in ended, in the memory of this page alone, for the same person. */
let interrupted: { readonly userId: string; readonly drafts: Map<string, unknown> } | undefined;

/** What was kept under the name for the person who is signed in. */
export function interruptedDraft(name: string | undefined): unknown {
  if (name === undefined || interrupted === undefined) return undefined;
  // Another person gets nothing of it, and nothing of it stays.
  if (interrupted.userId !== session.get()?.user.id) interrupted = undefined;
  return interrupted?.drafts.get(name);
}

/** Keeps what is written, if any, when the form goes because the sign-in ended: elsewhere, or by itself. */
export function useKeptAtEnd(name: string | undefined, written: unknown): void {
  const userId = useValue(session)?.user.id;
  const latest = useRef(written);
  useEffect(() => {
    latest.current = written;
  });
  useEffect(() => {
    if (name === undefined || userId === undefined) return undefined;
    interrupted?.drafts.delete(name);
    return () => {
      if (session.get() !== null || latest.current === undefined) return;
      if (interrupted?.userId !== userId) interrupted = { userId, drafts: new Map() };
      interrupted.drafts.set(name, latest.current);
    };
  }, [name, userId]);
}
