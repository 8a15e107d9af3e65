import { Dialog } from '@base-ui/react/dialog';
import { useRouter } from '@tanstack/react-router';
import { type KeyboardEvent, useId, useState } from 'react';
import { inputClass } from '../ui/field';
import type { Command } from './command';
import { useCommands } from './commands';

/** Finds screens, actions, agents, triggers and conversations by a few letters. */
export function Palette({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }) {
  return (
    <Dialog.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-40 bg-black/45" />
        <Dialog.Popup className="fixed top-[12vh] left-1/2 z-50 flex max-h-[70vh] w-[calc(100vw-2rem)] max-w-xl -translate-x-1/2 flex-col rounded-xl border border-line bg-raised text-text shadow-2xl outline-none">
          <Dialog.Title className="sr-only">Search and commands</Dialog.Title>
          <Finder onClose={onClose} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function Finder({ onClose }: { readonly onClose: () => void }) {
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const { commands, isReading } = useCommands(text);
  const router = useRouter();
  const id = useId();
  const index = Math.min(chosen, commands.length - 1);

  const run = (command: Command | undefined): void => {
    if (command === undefined) return;
    onClose();
    if (command.act === undefined) router.history.push(command.path ?? '/');
    else command.act();
  };
  const press = (event: KeyboardEvent): void => {
    const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };
    const step = steps[event.key];
    if (step !== undefined && commands.length > 0) {
      event.preventDefault();
      const next = (index + step + commands.length) % commands.length;
      setChosen(next);
      document.getElementById(`${id}-${next}`)?.scrollIntoView({ block: 'nearest' });
    } else if (event.key === 'Enter') {
      event.preventDefault();
      run(commands[index]);
    }
  };
  return (
    <>
      <div className="border-b border-line p-2">
        <input
          type="text"
          role="combobox"
          aria-label="Search screens, agents, triggers, conversations and actions"
          aria-expanded="true"
          aria-controls={`${id}-list`}
          aria-activedescendant={commands.length === 0 ? undefined : `${id}-${index}`}
          aria-autocomplete="list"
          placeholder="Search …"
          autoComplete="off"
          spellCheck={false}
          className={inputClass}
          value={text}
          onChange={({ target }) => {
            setText(target.value);
            setChosen(0);
          }}
          onKeyDown={press}
        />
      </div>
      <div id={`${id}-list`} role="listbox" aria-label="Results" className="overflow-y-auto p-2">
        {commands.map((command, place) => (
          <div
            key={command.id}
            id={`${id}-${place}`}
            role="option"
            tabIndex={-1}
            aria-selected={place === index}
            className="flex cursor-pointer items-center gap-3 rounded-md px-2 py-1.5 text-sm aria-selected:bg-accent-soft"
            onMouseMove={() => setChosen(place)}
            onClick={() => run(command)}
            onKeyDown={press}
          >
            <span className="w-24 shrink-0 text-xs text-muted">{command.kind}</span>
            <span className="min-w-0 flex-1 truncate">{command.title}</span>
            {command.detail !== undefined && (
              <span className="max-w-40 truncate text-xs text-muted">{command.detail}</span>
            )}
          </div>
        ))}
      </div>
      <p role="status" className="px-4 pb-3 text-xs text-muted">
        {isReading ? 'Searching …' : commands.length === 0 ? 'Nothing matches.' : ''}
      </p>
    </>
  );
}
