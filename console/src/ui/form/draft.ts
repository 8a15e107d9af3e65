import { useState } from 'react';
import { useUnsaved } from '../unsaved';
import { interruptedDraft, useKeptAtEnd } from './interrupted';
import { isSame, rebased } from './rebased';

/** What is written over a saved value. */
export interface Written<Value> {
  /** The saved value that is on screen where nothing is written. */
  readonly base: Value;
  readonly draft: Value;
}

export interface DraftOf<Value> {
  readonly written: Written<Value>;
  readonly change: (next: (present: Value) => Value) => void;
  readonly discard: () => void;
  /** After a save: what was sent is no longer written, and what was written since then stays. `saved` is what the save led to. */
  readonly settle: (sent: Written<Value>, saved: Value) => void;
}

interface State<Value> extends Written<Value> {
  /** The saved value as it was last given. It is older than `base` between a save and the next reading. */
  readonly given: Value;
}

/**
 * A copy of a saved value for writing. When others save meanwhile, it shows their changes, but for what is written here.
 */
export function useDraft<Value>(
  saved: Value,
  {
    asks = true,
    name,
  }: {
    /** The person is asked before what is written is lost. */
    readonly asks?: boolean;
    /** Of what is written, in the whole console: under it, the draft outlasts the end of the sign-in. */
    readonly name?: string;
  } = {},
): DraftOf<Value> {
  const [state, setState] = useState<State<Value>>(
    () => (interruptedDraft(name) as State<Value> | undefined) ?? { given: saved, base: saved, draft: saved },
  );
  if (!isSame(state.given, saved))
    setState(({ base, draft }) => ({ given: saved, base: saved, draft: rebased(draft, base, saved) }));
  const isChanged = !isSame(state.base, state.draft);
  useUnsaved(asks && isChanged);
  useKeptAtEnd(name, isChanged ? state : undefined);
  return {
    written: state,
    change: (next) => setState((present) => ({ ...present, draft: next(present.draft) })),
    discard: () => setState((present) => ({ ...present, draft: present.base })),
    settle: (sent, now) =>
      setState((present) => {
        // A reading may have come before the answer, and be newer.
        const base = rebased(now, sent.base, present.base);
        return { ...present, base, draft: rebased(present.draft, sent.draft, base) };
      }),
  };
}
