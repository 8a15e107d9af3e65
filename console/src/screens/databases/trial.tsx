import { useMutation } from '@tanstack/react-query';
import { PlugZap } from 'lucide-react';
import { Button } from '../../ui/button';
import { duration } from '../../ui/time';

interface Outcome {
  readonly latency_ms: number;
  readonly tested_table: string | null;
  readonly tested_table_accessible: boolean;
}

/** Tries a connection and says what came of it, until another one is written. */
export function Trial({ of, ask }: { readonly of: unknown; readonly ask: () => Promise<Outcome> }) {
  return <Attempt key={JSON.stringify(of)} ask={ask} />;
}

function Attempt({ ask }: { readonly ask: () => Promise<Outcome> }) {
  const trial = useMutation({ mutationFn: ask });
  const { data, error } = trial;
  return (
    <div className="flex min-w-0 flex-wrap items-center gap-3">
      <Button icon={<PlugZap size={14} aria-hidden />} busy={trial.isPending} onClick={() => trial.mutate()}>
        Test the connection
      </Button>
      <p role="status" className="min-w-0 text-sm wrap-anywhere">
        {error !== null && <span className="text-bad">{error.message}</span>}
        {data !== undefined && (
          <span className={isGood(data) ? 'text-good' : 'text-warn'}>{wordsOf(data)}</span>
        )}
      </p>
    </div>
  );
}

const isGood = ({ tested_table: table, tested_table_accessible: readable }: Outcome): boolean =>
  table !== null && readable;

function wordsOf({
  latency_ms: ms,
  tested_table: table,
  tested_table_accessible: readable,
}: Outcome): string {
  const answered = `It answered in ${duration(ms)}`;
  if (table === null) return `${answered}, but there is no table to read.`;
  return readable ? `${answered}, and ${table} can be read.` : `${answered}, but ${table} cannot be read.`;
}
