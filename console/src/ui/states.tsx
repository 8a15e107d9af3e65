import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ApiError, isForbidden, isMissing } from '../api/errors';
import { Button } from './button';
import { CopyButton } from './copy-button';

function Message({
  title,
  children,
  role,
}: {
  readonly title: string;
  readonly children?: ReactNode;
  readonly role?: 'alert' | 'status';
}) {
  return (
    <div role={role} className="mx-auto flex max-w-lg flex-col items-center gap-3 px-4 py-16 text-center">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function Loading({ label = 'Loading' }: { readonly label?: string }) {
  return (
    <div role="status" className="flex flex-col gap-2 p-4">
      <span className="sr-only">{label} …</span>
      {['w-2/3', 'w-full', 'w-5/6', 'w-1/2'].map((width) => (
        <div key={width} className={`h-4 ${width} animate-pulse rounded bg-hover`} />
      ))}
    </div>
  );
}

/** There is nothing yet: says what would be here and offers the first step. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <Message title={title}>
      <div className="flex flex-col items-center gap-3 text-muted">{children}</div>
    </Message>
  );
}

export function Forbidden({ what = 'this' }: { readonly what?: string }) {
  return (
    <Message title="Your role does not include this" role="alert">
      <p className="text-muted">
        To see {what}, ask an owner or admin of the tenant for another role, or switch to another tenant.
      </p>
    </Message>
  );
}

export function Missing({ what = 'This page' }: { readonly what?: string }) {
  return (
    <Message title={`${what} does not exist`} role="alert">
      <p className="text-muted">It may have been deleted, or belong to another tenant.</p>
    </Message>
  );
}

export function Failure({ error, retry }: { readonly error: unknown; readonly retry?: () => void }) {
  if (isForbidden(error)) return <Forbidden />;
  if (isMissing(error)) return <Missing what="What you look for" />;
  const requestId = error instanceof ApiError ? error.requestId : undefined;
  return (
    <Message title="This could not be loaded" role="alert">
      <p className="text-muted">{error instanceof Error ? error.message : 'An unexpected error occurred.'}</p>
      {requestId !== undefined && (
        <p className="flex items-center gap-1 text-xs text-muted">
          Request <code className="font-mono">{requestId}</code>
          <CopyButton text={requestId} label="Copy the request id" />
        </p>
      )}
      {retry !== undefined && <Button onClick={retry}>Try again</Button>}
    </Message>
  );
}

/** The states of a query around what it found. */
export function Loaded<Data>({
  query,
  children,
}: {
  readonly query: UseQueryResult<Data>;
  readonly children: (data: Data) => ReactNode;
}) {
  if (query.data !== undefined) return children(query.data);
  if (query.isError) return <Failure error={query.error} retry={() => void query.refetch()} />;
  return <Loading />;
}
