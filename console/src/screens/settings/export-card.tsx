import { Download } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { troupe } from '../../api/client';
import { useAllowed } from '../../session/use-session';
import { Button } from '../../ui/button';
import type { FieldSpecs, ValuesOf } from '../../ui/form/fields';
import { Form } from '../../ui/form/form';
import { bytes } from '../../ui/numbers';
import { Card } from '../../ui/page';
import { saveFile, withProgress } from '../../ui/save-file';

const fields = {
  kind: {
    kind: 'choice',
    label: 'What',
    half: true,
    options: [
      ['usage', 'Usage: attempts with tokens and cost'],
      ['calls', 'Calls of models'],
      ['sessions', 'Conversations'],
      ['messages', 'Messages'],
      ['executions', 'Turns'],
      ['audit', 'Audit'],
    ],
  },
  format: {
    kind: 'choice',
    label: 'Format',
    half: true,
    options: [
      ['jsonl', 'JSON lines'],
      ['csv', 'CSV, for spreadsheets'],
    ],
  },
  start_date: { kind: 'text', label: 'From', type: 'date', half: true, hint: 'Empty: all that is kept.' },
  end_date: { kind: 'text', label: 'To', type: 'date', half: true, hint: 'This day included, in UTC.' },
} as const satisfies FieldSpecs;

/** All rows of a kind as a file. The node streams it; a file of any length begins at once. */
export function ExportCard() {
  const [received, setReceived] = useState<number>();
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  if (!useAllowed('exports:read')) return null;
  const download = async ({ kind, format, start_date: from, end_date: to }: ValuesOf<typeof fields>) => {
    const stopping = new AbortController();
    running.current = stopping;
    setReceived(0);
    const query = { format, ...(from !== '' && { start_date: from }), ...(to !== '' && { end_date: to }) };
    try {
      const response = await troupe.exports.read({ path: { kind }, query }, { signal: stopping.signal });
      const file = await withProgress(response, setReceived);
      await saveFile(file, [kind, from, to].filter((part) => part !== '').join('-') + `.${format}`);
      return file.size;
    } catch (error) {
      if (stopping.signal.aborted) throw new Error('The export was stopped.', { cause: error });
      throw error;
    } finally {
      setReceived(undefined);
    }
  };
  return (
    <Card title="Export">
      <Form
        fields={fields}
        asks={false}
        verb="Export"
        kind="secondary"
        submit={download}
        done={(size) => `The file of ${bytes(size)} is saved`}
        actions={
          received !== undefined && (
            <>
              <span role="status" className="flex items-center gap-1.5 text-sm tabular-nums">
                <Download size={14} aria-hidden /> {bytes(received)} so far
              </span>
              <Button onClick={() => running.current?.abort()}>Stop</Button>
            </>
          )
        }
      />
    </Card>
  );
}
