import { useMutation } from '@tanstack/react-query';
import { type ChangeEvent, useState } from 'react';
import { api, take } from '../../../api/client';
import { ApiError } from '../../../api/errors';
import { queries, useKey } from '../../../api/queries';
import { Badge } from '../../../ui/badge';
import { Button } from '../../../ui/button';
import { Dialog } from '../../../ui/dialog';
import { useDialogHold } from '../../../ui/dialog-hold';
import { TextArea, TextField } from '../../../ui/field';
import { succeeded } from '../../../ui/toasts';
import type { ReadDocument, ReadOperation } from './openapi-tools';

/** Makes a tool of each chosen operation of an OpenAPI document. */
export function ImportTools({
  agentId,
  open,
  onClose,
}: {
  readonly agentId: string;
  readonly open: boolean;
  readonly onClose: () => void;
}) {
  const [document, setDocument] = useState<ReadDocument>();
  const close = (): void => {
    setDocument(undefined);
    onClose();
  };
  return (
    <Dialog
      open={open}
      onClose={close}
      title="Import tools from an OpenAPI document"
      description="OpenAPI 3 or Swagger 2, as JSON or YAML. It is read in your browser."
      wide
    >
      {document === undefined ? (
        <Given onRead={setDocument} />
      ) : (
        <Choice agentId={agentId} document={document} onClose={close} />
      )}
    </Dialog>
  );
}

function Given({ onRead }: { readonly onRead: (document: ReadDocument) => void }) {
  const [text, setText] = useState('');
  const reading = useMutation({
    mutationFn: async (written: string) => {
      // The reader of YAML is loaded with the first import.
      const { readOpenApi } = await import('./openapi-tools');
      return readOpenApi(written);
    },
    onSuccess: onRead,
  });
  const takeFile = ({ target }: ChangeEvent<HTMLInputElement>): void => {
    const [file] = target.files ?? [];
    void file?.text().then((written) => reading.mutate(written));
  };
  return (
    <div className="flex flex-col gap-4">
      <input
        type="file"
        aria-label="OpenAPI document"
        accept=".json,.yaml,.yml,application/json,text/yaml"
        onChange={takeFile}
        className="text-sm text-muted file:mr-3 file:h-8 file:rounded-md file:border file:border-solid file:border-line file:bg-raised file:px-3 file:text-sm file:font-medium file:text-text"
      />
      <TextArea
        label="Or paste it"
        className="min-h-48 font-mono !text-xs"
        spellCheck={false}
        value={text}
        onChange={({ target }) => setText(target.value)}
        problem={reading.error?.message}
      />
      <div className="flex justify-end">
        <Button
          kind="primary"
          disabled={text.trim() === ''}
          busy={reading.isPending}
          onClick={() => reading.mutate(text)}
        >
          Read the document
        </Button>
      </div>
    </div>
  );
}

const keyOf = ({ method, path }: ReadOperation): string => `${method} ${path}`;

function Choice({
  agentId,
  document,
  onClose,
}: {
  readonly agentId: string;
  readonly document: ReadDocument;
  readonly onClose: () => void;
}) {
  const [server, setServer] = useState(document.server);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, string>>(new Map());
  const agentKey = useKey('agents', agentId);
  const add = useMutation({
    mutationFn: async () => {
      let added = 0;
      for (const operation of document.operations.filter((one) => chosen.has(keyOf(one)))) {
        if (outcomes.get(keyOf(operation)) === 'added') continue;
        const outcome = await take(
          api.POST('/api/agents/{id}/schemas', {
            params: { path: { id: agentId } },
            body: operation.toolAt(server.replace(/\/+$/, '')),
          }),
        ).then(() => 'added', problemText);
        if (outcome === 'added') added += 1;
        setOutcomes((present) => new Map(present).set(keyOf(operation), outcome));
        if (outcome !== 'added') throw new Error(`${keyOf(operation)}: ${outcome}`);
      }
      return added;
    },
    onSuccess: (added) => {
      succeeded(added === 1 ? '1 tool was added' : `${added} tools were added`);
      onClose();
    },
    onSettled: () => queries.invalidateQueries({ queryKey: agentKey }),
  });
  useDialogHold(add.isPending);
  const toggle = (key: string): void => {
    const next = new Set(chosen);
    if (!next.delete(key)) next.add(key);
    setChosen(next);
  };
  const all = document.operations.map(keyOf);
  return (
    <div className="flex flex-col gap-4">
      <TextField
        label="Server"
        hint={`${document.title === '' ? 'The document' : document.title} has ${document.operations.length} operations.`}
        value={server}
        placeholder="https://api.example.com"
        onChange={({ target }) => setServer(target.value)}
      />
      <div className="flex gap-2">
        <Button onClick={() => setChosen(new Set(all))}>All</Button>
        <Button onClick={() => setChosen(new Set())}>None</Button>
      </div>
      <ul className="max-h-80 overflow-y-auto rounded-md border border-line" aria-label="Operations">
        {document.operations.map((operation) => {
          const key = keyOf(operation);
          const outcome = outcomes.get(key);
          return (
            <li key={key} className="border-b border-line last:border-0">
              <label className="flex items-start gap-2 px-3 py-2 text-sm hover:bg-hover">
                <input
                  type="checkbox"
                  className="mt-0.5 size-4 accent-accent"
                  checked={chosen.has(key)}
                  onChange={() => toggle(key)}
                />
                <span className="min-w-0 flex-1">
                  <span className="font-mono text-xs wrap-anywhere">{key}</span>
                  {operation.summary !== '' && (
                    <span className="block truncate text-xs text-muted">{operation.summary}</span>
                  )}
                  {outcome !== undefined && outcome !== 'added' && (
                    <span className="block text-xs text-bad">{outcome}</span>
                  )}
                </span>
                {outcome === 'added' && <Badge tone="good">added</Badge>}
              </label>
            </li>
          );
        })}
      </ul>
      {add.isError && (
        <p role="alert" className="text-sm wrap-anywhere text-bad">
          {add.error.message}
        </p>
      )}
      <div className="flex justify-end">
        <Button kind="primary" disabled={chosen.size === 0} busy={add.isPending} onClick={() => add.mutate()}>
          Add {chosen.size} {chosen.size === 1 ? 'tool' : 'tools'}
        </Button>
      </div>
    </div>
  );
}

function problemText(error: unknown): string {
  if (error instanceof ApiError && error.field !== undefined)
    return `${error.field.name} ${error.field.issue}`;
  return error instanceof Error ? error.message : 'An unexpected error occurred.';
}
