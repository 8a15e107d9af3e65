import { Badge } from '../../ui/badge';

export interface Finding {
  readonly schema?: string | null;
  readonly field: string;
  readonly issue: string;
}

/** What the checks of an agent or a tool found: where it is, and what is wrong. */
export function Findings({
  issues,
  warnings = [],
}: {
  readonly issues: readonly Finding[];
  readonly warnings?: readonly Finding[];
}) {
  const all = [
    ...issues.map((finding) => ({ ...finding, isIssue: true })),
    ...warnings.map((finding) => ({ ...finding, isIssue: false })),
  ];
  if (all.length === 0) return null;
  return (
    <ul className="flex flex-col gap-2">
      {all.map(({ schema, field, issue, isIssue }) => (
        <li key={`${schema ?? ''} ${field} ${issue}`} className="flex items-baseline gap-2 text-sm">
          <Badge tone={isIssue ? 'bad' : 'warn'}>{isIssue ? 'error' : 'warning'}</Badge>
          <span className="min-w-0 wrap-anywhere">
            <code className="font-mono text-xs">
              {schema === null || schema === undefined ? field : `${schema}: ${field}`}
            </code>{' '}
            {issue}
          </span>
        </li>
      ))}
    </ul>
  );
}
