import { Download } from 'lucide-react';
import { useState } from 'react';
import { authorizedFetch } from '../../api/client';
import { apiErrorOf } from '../../api/errors';
import { useAllowed } from '../../session/use-session';
import { Button } from '../../ui/button';
import { failed } from '../../ui/toasts';
import type { Range } from './figures';

async function download(range: Range): Promise<void> {
  const query = new URLSearchParams({ ...range, format: 'csv' });
  const request = new Request(`${location.origin}/api/v1/exports/usage?${query}`);
  const response = await authorizedFetch(request);
  if (!response.ok) throw apiErrorOf(response, await response.json().catch(() => undefined));
  const link = document.createElement('a');
  link.href = URL.createObjectURL(await response.blob());
  link.download = `usage-${range.start_date}-${range.end_date}.csv`;
  link.click();
  URL.revokeObjectURL(link.href);
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
