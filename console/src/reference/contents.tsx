import { useMemo } from 'react';
import { cx } from '../ui/cx';
import { useDocument } from './context';
import { type Operation, search } from './document';
import { MethodBadge } from './method-badge';

/** All operations by group, or those that a search finds. */
export function Contents({
  address,
  wanted,
  onNavigate,
}: {
  readonly address: string;
  readonly wanted: string;
  readonly onNavigate: () => void;
}) {
  const document = useDocument();
  const found = useMemo(() => search(document.operations.values(), wanted), [document, wanted]);
  if (wanted.trim() !== '') {
    return (
      <div className="flex flex-col gap-1">
        <p className="px-2 text-xs text-muted" role="status">
          {found.length === 1 ? '1 operation' : `${found.length} operations`}
        </p>
        <Entries operations={found} {...{ address, onNavigate }} />
      </div>
    );
  }
  return (
    <ul className="flex flex-col gap-1">
      <li>
        <Plain
          href="#overview"
          title="Overview"
          isHere={address === '' || address === 'overview'}
          onNavigate={onNavigate}
        />
      </li>
      <li>
        <Plain
          href="#error-codes"
          title="Error codes"
          isHere={address === 'error-codes'}
          onNavigate={onNavigate}
        />
      </li>
      {document.groups.map(({ name, title, operations }) => (
        <li key={name}>
          <Plain href={`#${name}`} title={title} isHere={address === name} isGroup onNavigate={onNavigate} />
          {(address === name || address.startsWith(`${name}.`)) && (
            <Entries operations={operations} {...{ address, onNavigate }} />
          )}
        </li>
      ))}
    </ul>
  );
}

const lineClass = 'flex items-center gap-2 rounded-md px-2 py-1 text-sm hover:bg-hover';

function Plain({
  href,
  title,
  isHere,
  isGroup = false,
  onNavigate,
}: {
  readonly href: string;
  readonly title: string;
  readonly isHere: boolean;
  readonly isGroup?: boolean;
  readonly onNavigate: () => void;
}) {
  return (
    <a
      href={href}
      onClick={onNavigate}
      aria-current={isHere ? 'page' : undefined}
      className={cx(lineClass, isGroup && 'font-medium', isHere && 'bg-accent-soft text-accent')}
    >
      {title}
    </a>
  );
}

function Entries({
  operations,
  address,
  onNavigate,
}: {
  readonly operations: readonly Operation[];
  readonly address: string;
  readonly onNavigate: () => void;
}) {
  return (
    <ul className="mb-1">
      {operations.map((operation) => (
        <Entry key={operation.operationId} {...{ operation, address, onNavigate }} />
      ))}
    </ul>
  );
}

function Entry({
  operation: { operationId, method, summary },
  address,
  onNavigate,
}: {
  readonly operation: Operation;
  readonly address: string;
  readonly onNavigate: () => void;
}) {
  const isHere = address === operationId;
  return (
    <li>
      <a
        href={`#${operationId}`}
        onClick={onNavigate}
        aria-current={isHere ? 'page' : undefined}
        className={cx(lineClass, isHere && 'bg-accent-soft text-accent')}
      >
        <MethodBadge method={method} />
        <span className="min-w-0 flex-1">{summary}</span>
      </a>
    </li>
  );
}
