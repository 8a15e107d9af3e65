import { type KeyboardEvent, useCallback, useEffect, useRef } from 'react';
import { useAgentNames } from '../../api/agent-names';
import { cx } from '../../ui/cx';
import { showLine, useLinesOnScreen } from '../../ui/lines-on-screen';
import { Empty, Failure, Loading } from '../../ui/states';
import { ConversationRow, rowHeight } from './conversation-row';
import type { ListState } from './conversation-list';
import { useHeldScroll } from './use-held-scroll';

const steps: Readonly<Record<string, number>> = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 };

/** The next page is fetched before its place is reached. */
const aheadRows = 60;

/** The conversations, of which only the lines on screen are in the page. */
export function ListPane({
  state,
  more,
  selected,
  filtered,
  open,
}: {
  readonly state: ListState;
  readonly more: () => void;
  readonly selected: string | undefined;
  readonly filtered: boolean;
  readonly open: (id: string) => void;
}) {
  const { rows, loading, complete, error } = state;
  const names = useAgentNames();
  const box = useHeldScroll(rows, rowHeight);
  const { first, end } = useLinesOnScreen(box, rows.length, rowHeight);
  useEffect(() => {
    if (!complete && error === null && end >= rows.length - aheadRows) more();
  }, [complete, error, end, rows.length, more]);

  // A line whose conversation did not change is not drawn again: what it gets stays the same while others move it.
  const shown = useRef(rows);
  useEffect(() => {
    shown.current = rows;
  });
  const step = useCallback(
    (event: KeyboardEvent, fromId: string): void => {
      const by = steps[event.key];
      if (by === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      const all = shown.current;
      const from = all.findIndex(({ session_id: id }) => id === fromId);
      const to = Math.min(all.length - 1, Math.max(0, from + by));
      const next = all[to];
      if (next === undefined) return;
      if (box.current !== null) showLine(box.current, to, rowHeight);
      open(next.session_id);
      // The line may not be in the page before the list has scrolled.
      requestAnimationFrame(() =>
        box.current?.querySelector<HTMLElement>(`[data-session="${next.session_id}"]`)?.focus(),
      );
    },
    [open, box],
  );

  if (rows.length === 0) {
    if (error !== null) return <Failure error={error} retry={more} />;
    if (loading || !complete) return <Loading label="Conversations" />;
    return filtered ? (
      <Empty title="No conversation matches">
        <p>Change or remove a filter.</p>
      </Empty>
    ) : (
      <Empty title="No conversations yet">
        <p>Conversations with your agents appear here as they begin.</p>
      </Empty>
    );
  }
  return (
    <div
      ref={box}
      className="min-h-0 flex-1 overflow-y-auto overscroll-contain [overflow-anchor:none]"
      tabIndex={0}
      role="region"
      aria-label="Conversations"
    >
      <ul className="relative" style={{ height: rows.length * rowHeight }}>
        {rows.slice(first, end).map((row, place) => {
          const index = first + place;
          return (
            <li
              key={row.session_id}
              aria-setsize={complete ? rows.length : -1}
              aria-posinset={index + 1}
              className="absolute inset-x-0 top-0"
              style={{ height: rowHeight, transform: `translateY(${index * rowHeight}px)` }}
            >
              <ConversationRow
                conversation={row}
                agent={names.get(row.agent_id)}
                selected={row.session_id === selected}
                open={open}
                step={step}
              />
            </li>
          );
        })}
      </ul>
      <p
        className={cx('px-3 py-2 text-center text-xs text-muted', !loading && complete && 'sr-only')}
        role="status"
      >
        {loading ? 'Loading more …' : complete ? `${rows.length} conversations` : ''}
      </p>
      {error !== null && (
        <p role="alert" className="p-3 text-center text-sm text-bad">
          More could not be loaded.{' '}
          <button type="button" className="underline" onClick={more}>
            Try again
          </button>
        </p>
      )}
    </div>
  );
}
