import { count } from '../../../ui/numbers';
import { type RingChange, shortName } from './cluster-data';

const reasons: Readonly<Record<RingChange['left'][number]['because'], string>> = {
  left: 'left in order',
  refused: 'refused connections and lost its lease',
  silent: 'stopped renewing its lease',
  exited: 'ended without leaving',
  unknown: 'is gone',
};

/** With seconds: a node that dies and its return lie close together. */
const moment = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

const key = ({ view }: RingChange): string => `${view.number} ${view.hash}`;

/** What moved when, and why: one entry for each change of the ring, newest first. */
export function History({ changes }: { readonly changes: readonly RingChange[] }) {
  if (changes.length === 0)
    return <p className="text-sm text-muted">Nothing has moved since the nodes that answer were started.</p>;
  return (
    <ol className="max-h-96 divide-y divide-line overflow-y-auto" aria-label="Changes of the ring">
      {changes.map((change) => (
        <li key={key(change)} className="flex flex-wrap gap-x-4 gap-y-1 py-2 text-sm">
          <time dateTime={change.at} title={change.at} className="w-44 shrink-0 whitespace-nowrap text-muted">
            {moment.format(new Date(change.at))}
          </time>
          <span className="w-16 shrink-0 text-muted">view {change.view.number}</span>
          <div className="min-w-0 flex-1 basis-60">
            <ul>
              {change.joined.map((process) => (
                <li key={process} className="wrap-anywhere">
                  <span className="font-mono" title={process}>
                    {shortName(process)}
                  </span>{' '}
                  joined
                </li>
              ))}
              {change.left.map(({ process, because }) => (
                <li key={process} className="wrap-anywhere">
                  <span className="font-mono" title={process}>
                    {shortName(process)}
                  </span>{' '}
                  {reasons[because]}
                </li>
              ))}
              {change.joined.length + change.left.length === 0 && <li>the same members, newly numbered</li>}
            </ul>
            <p className="text-muted">
              {count(change.moved)} slots moved; {count(change.members)}{' '}
              {change.members === 1 ? 'node' : 'nodes'} since
            </p>
          </div>
        </li>
      ))}
    </ol>
  );
}
