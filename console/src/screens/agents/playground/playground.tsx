import { RotateCcw } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { useAllowed } from '../../../session/use-session';
import { IconButton } from '../../../ui/button';
import { inputClass } from '../../../ui/field';
import { dollars } from '../../../ui/numbers';
import type { Draft } from '../editor/draft';
import { useModels } from '../../../api/models';
import type { Agent } from '../types';
import { Composer } from './composer';
import { type Mode, useConversation } from './conversation';
import { ExchangeView } from './exchange';

/** A conversation with the agent beside its editor. */
export function Playground({ agent, draft }: { readonly agent: Agent; readonly draft: Draft }) {
  const isPublished = agent.status === 'published';
  const mayChat = useAllowed('agents:chat');
  const mayCall = useAllowed('llm:call');
  const [chosen, setMode] = useState<Mode>();
  const mode = chosen ?? (isPublished ? 'published' : 'draft');
  const [model, setModel] = useState<string>();
  const talk = useConversation(agent.id, mode, draft, model ?? draft.llm_config.model);
  const end = useRef<HTMLDivElement>(null);
  const { exchanges } = talk;
  useEffect(() => {
    const box = end.current;
    if (box !== null && exchanges.length > 0) box.scrollTop = box.scrollHeight;
  }, [exchanges]);
  if (!mayChat) return null;
  const choose = (next: Mode): void => {
    setMode(next);
    talk.startOver();
  };
  const total = talk.exchanges.reduce((sum, { answer }) => sum + (answer.cost ?? 0), 0);
  const mayAsk = mode === 'published' ? isPublished : mayCall;
  return (
    <section
      aria-label="Playground"
      className="flex min-h-96 min-w-0 flex-col rounded-lg border border-line bg-surface xl:sticky xl:top-16 xl:h-[calc(100dvh-10.5rem)]"
    >
      <div className="flex flex-col gap-2 border-b border-line p-3">
        <div className="flex items-center justify-between gap-2">
          <h2 className="text-sm">Playground</h2>
          <span className="flex items-center gap-1 text-xs text-muted">
            {talk.exchanges.length > 0 && <span>{dollars(total)} so far</span>}
            <IconButton
              label="Start over"
              icon={<RotateCcw size={14} aria-hidden />}
              disabled={talk.exchanges.length === 0}
              onClick={talk.startOver}
            />
          </span>
        </div>
        <div className="flex flex-wrap gap-2">
          <select
            aria-label="What answers"
            className={`${inputClass} min-w-0 flex-1`}
            value={mode}
            onChange={({ target }) => choose(target.value as Mode)}
          >
            <option value="published" disabled={!isPublished}>
              {isPublished ? `Published version ${agent.published_version ?? ''}` : 'Not published'}
            </option>
            {mayCall && <option value="draft">Prompt as written</option>}
          </select>
          {mode === 'draft' && <ModelChoice draft={draft} model={model} onChange={setModel} />}
        </div>
        <p className="text-xs text-muted">
          {mode === 'published'
            ? 'A real turn with tools and memory. It is in the inbox and counts.'
            : 'Your prompt with a model, also before it is saved. Without tools and memory.'}
        </p>
      </div>
      <div
        ref={end}
        className="flex min-h-40 flex-1 flex-col gap-4 overflow-y-auto p-3 max-xl:max-h-[60vh]"
        role="log"
        aria-label="Conversation"
        // A box that scrolls needs the keyboard.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
      >
        {talk.exchanges.length === 0 && (
          <p className="m-auto max-w-56 text-center text-sm text-muted">
            Ask something to see how the agent answers, how long it takes and what it costs.
          </p>
        )}
        {talk.exchanges.map((exchange) => (
          <ExchangeView
            key={exchange.id}
            exchange={exchange}
            onReply={talk.isRunning ? undefined : (text) => talk.ask(text, [])}
          />
        ))}
      </div>
      <Composer disabled={!mayAsk} isRunning={talk.isRunning} onAsk={talk.ask} onStop={talk.stop} />
    </section>
  );
}

function ModelChoice({
  draft,
  model,
  onChange,
}: {
  readonly draft: Draft;
  readonly model: string | undefined;
  readonly onChange: (model: string | undefined) => void;
}) {
  const models = useModels()?.filter(({ available }) => available) ?? [];
  return (
    <select
      aria-label="Model"
      className={`${inputClass} min-w-0 flex-1`}
      value={model ?? ''}
      onChange={({ target }) => onChange(target.value === '' ? undefined : target.value)}
    >
      <option value="">{draft.llm_config.model}, as in the editor</option>
      {models.map(({ id }) => (
        <option key={id} value={id}>
          {id}
        </option>
      ))}
    </select>
  );
}
