import { useState } from 'react';
import type { Agent, AgentPatch } from '../types';

/** The working copy as it is written, before it is saved. */
export interface Draft {
  readonly name: string;
  readonly commercial_name: string;
  readonly bio: string;
  readonly type: Agent['type'];
  readonly tags: readonly string[];
  readonly quick_replies_enabled: boolean;
  readonly chat_enabled: boolean;
  readonly llm_config: Agent['llm_config'];
  readonly metadata: Readonly<Record<string, unknown>>;
}

export interface DraftState {
  readonly draft: Draft;
  readonly isChanged: boolean;
  /** Undefined while the agent cannot be written: the person's role, or an archived agent. */
  readonly change: ((part: Partial<Draft>) => void) | undefined;
  readonly changeModel: (part: Partial<Draft['llm_config']>) => void;
  readonly discard: () => void;
  /** Ends what was saved, and keeps what was written since. */
  readonly settle: (saved: Draft) => void;
}

/** What each part of the editor is given: the draft, and the error of its last save. */
export interface PartProps {
  readonly state: DraftState;
  readonly error: unknown;
}

export function draftOf(agent: Agent): Draft {
  const { name, commercial_name, bio, type, tags, quick_replies_enabled, chat_enabled } = agent;
  const { llm_config, metadata } = agent;
  return {
    name,
    commercial_name,
    bio,
    type,
    tags,
    quick_replies_enabled,
    chat_enabled,
    llm_config,
    metadata,
  };
}

export function useDraft(agent: Agent, mayWrite: boolean): DraftState {
  const saved = draftOf(agent);
  const [changes, setChanges] = useState<Partial<Draft>>({});
  const draft = { ...saved, ...changes };
  const change = (part: Partial<Draft>): void => setChanges((present) => ({ ...present, ...part }));
  return {
    draft,
    isChanged: differenceOf(saved, draft) !== undefined,
    change: mayWrite ? change : undefined,
    changeModel: (part) => change({ llm_config: { ...draft.llm_config, ...part } }),
    discard: () => setChanges({}),
    settle: (sent) =>
      setChanges((present) =>
        Object.fromEntries(
          Object.entries(present).filter(([name, value]) => value !== sent[name as keyof Draft]),
        ),
      ),
  };
}

/**
 * The merge patch that makes the saved agent equal to the draft: what is gone is null, and only what changed is in it, so
 * that two people who write different fields do not undo each other.
 */
export function patchOf(agent: Agent, draft: Draft): AgentPatch {
  return differenceOf(draftOf(agent), draft) ?? {};
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function differenceOf(before: object, after: object): Record<string, unknown> | undefined {
  const [from, to] = [before, after] as readonly Readonly<Record<string, unknown>>[];
  const patch: Record<string, unknown> = {};
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [old, next] = [from?.[name], to?.[name]];
    if (JSON.stringify(old) === JSON.stringify(next)) continue;
    if (!isObject(old) || !isObject(next)) patch[name] = next ?? null;
    else {
      const inner = differenceOf(old, next);
      if (inner !== undefined) patch[name] = inner;
    }
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}
