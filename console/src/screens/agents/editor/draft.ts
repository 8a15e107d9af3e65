import { useDraft, type Written } from '../../../ui/form/draft';
import { mergePatch } from '../../../ui/form/merge-patch';
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
  readonly written: Written<Draft>;
  /** After a save: what was sent is no longer written, and what was written since then stays. */
  readonly settle: (sent: Written<Draft>, saved: Draft) => void;
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

export function useAgentDraft(agent: Agent, mayWrite: boolean): DraftState {
  const { written, change, discard, settle } = useDraft(draftOf(agent), { name: `agent ${agent.id}` });
  const { base, draft } = written;
  return {
    draft,
    isChanged: Object.keys(mergePatch(base, draft)).length > 0,
    change: mayWrite ? (part) => change((present) => ({ ...present, ...part })) : undefined,
    changeModel: (part) =>
      change((present) => ({ ...present, llm_config: { ...present.llm_config, ...part } })),
    discard,
    written,
    settle,
  };
}

export function patchOf({ base, draft }: Written<Draft>): AgentPatch {
  return mergePatch(base, draft);
}
