import { Paperclip, SendHorizontal, Square, X } from 'lucide-react';
import { type ChangeEvent, type FormEvent, type KeyboardEvent, useRef, useState } from 'react';
import { IconButton } from '../../../ui/button';
import { inputClass } from '../../../ui/field';
import { failed } from '../../../ui/toasts';
import { type Attachment, attachmentOf, attachmentsMax } from './attachments';

/** Where the question is written. Enter sends it, Shift-Enter begins a line. */
export function Composer({
  disabled,
  isRunning,
  onAsk,
  onStop,
}: {
  readonly disabled: boolean;
  readonly isRunning: boolean;
  readonly onAsk: (question: string, attachments: readonly Attachment[]) => void;
  readonly onStop: () => void;
}) {
  const [text, setText] = useState('');
  const [files, setFiles] = useState<readonly Attachment[]>([]);
  const picker = useRef<HTMLInputElement>(null);
  const ask = (): void => {
    if (disabled || isRunning || text.trim() === '') return;
    onAsk(text, files);
    setText('');
    setFiles([]);
  };
  const pick = ({ target }: ChangeEvent<HTMLInputElement>): void => {
    const picked = [...(target.files ?? [])].slice(0, attachmentsMax - files.length);
    target.value = '';
    Promise.all(picked.map(attachmentOf)).then(
      (read) => setFiles((present) => [...present, ...read]),
      (error: unknown) => failed('The file was not attached', error),
    );
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    ask();
  };
  const key = (event: KeyboardEvent): void => {
    // During text composition (IME), Enter confirms the composition.
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    ask();
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-2 border-t border-line p-3">
      {files.length > 0 && (
        <ul className="flex flex-wrap gap-1" aria-label="Attachments">
          {files.map((file, index) => (
            <li
              key={`${file.name} ${index}`}
              className="flex items-center gap-1 rounded border border-line bg-sunken pl-2 text-xs"
            >
              <span className="max-w-40 truncate">{file.name}</span>
              <IconButton
                label={`Remove ${file.name}`}
                className="h-6 !w-6"
                icon={<X size={12} aria-hidden />}
                onClick={() => setFiles(files.filter((_, other) => other !== index))}
              />
            </li>
          ))}
        </ul>
      )}
      <div className="flex items-end gap-1.5">
        <input ref={picker} type="file" multiple hidden aria-label="Files to attach" onChange={pick} />
        <IconButton
          label="Attach files"
          disabled={disabled || files.length >= attachmentsMax}
          icon={<Paperclip size={16} aria-hidden />}
          onClick={() => picker.current?.click()}
        />
        <textarea
          aria-label="Message"
          rows={2}
          disabled={disabled}
          placeholder={disabled ? 'Publish the agent to talk to it' : 'Ask something'}
          className={`${inputClass} !h-auto resize-none py-1.5`}
          value={text}
          onChange={({ target }) => setText(target.value)}
          onKeyDown={key}
        />
        {isRunning ? (
          <IconButton label="Stop" icon={<Square size={16} aria-hidden />} onClick={onStop} />
        ) : (
          <IconButton
            label="Send"
            type="submit"
            kind="primary"
            disabled={disabled || text.trim() === ''}
            icon={<SendHorizontal size={16} aria-hidden />}
          />
        )}
      </div>
    </form>
  );
}
