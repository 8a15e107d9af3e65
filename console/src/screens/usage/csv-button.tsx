import { Download } from 'lucide-react';
import { useState } from 'react';
import { troupe } from '../../api/client';
import { useAllowed } from '../../session/use-session';
import { Button } from '../../ui/button';
import { saveFile } from '../../ui/save-file';
import { failed } from '../../ui/toasts';
import type { Range } from './figures';

async function download(range: Range): Promise<void> {
  const response = await troupe.exports.read({ path: { kind: 'usage' }, query: { ...range, format: 'csv' } });
  await saveFile(response, `usage-${range.start_date}-${range.end_date}.csv`);
}

/** The usage of the period as a file, as the API exports it. */
export function CsvButton({ range }: { readonly range: Range }) {
  const [busy, setBusy] = useState(false);
  if (!useAllowed('exports:read')) return null;
  const run = (): void => {
    setBusy(true);
    download(range)
      .catch((error: unknown) => failed('The export failed', error))
      .finally(() => setBusy(false));
  };
  return (
    <Button busy={busy} icon={<Download size={14} aria-hidden />} onClick={run}>
      CSV
    </Button>
  );
}
