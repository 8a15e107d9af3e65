import type { UseInfiniteQueryResult } from '@tanstack/react-query';
import { Button } from './button';

/** The way to further rows of a list, and what did not succeed while others are shown: these, or reading it again. */
export function MoreRows({
  query,
  more,
  verb,
  isFollowed = false,
}: {
  readonly query: UseInfiniteQueryResult;
  readonly more: (() => void) | undefined;
  /** What the button says. */
  readonly verb: string;
  /** The list is read again by itself, and has a mark that says so. */
  readonly isFollowed?: boolean;
}) {
  const { error, isFetchingNextPage, isFetchNextPageError, isRefetchError } = query;
  const problem = isFetchNextPageError
    ? 'More could not be loaded.'
    : isRefetchError && !isFollowed
      ? 'This could not be read again, and may be out of date.'
      : undefined;
  return (
    <>
      {(more !== undefined || isFetchingNextPage) && (
        <Button className="self-center" busy={isFetchingNextPage} onClick={more}>
          {verb}
        </Button>
      )}
      {problem !== undefined && (
        <p role="alert" className="self-center rounded-md bg-bad-soft px-3 py-2 text-sm text-bad">
          {problem} {error instanceof Error && error.message}
        </p>
      )}
    </>
  );
}
