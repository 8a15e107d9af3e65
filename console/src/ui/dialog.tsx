import { Dialog as Base } from '@base-ui/react/dialog';
import { X } from 'lucide-react';
import { type ReactNode, useCallback, useState } from 'react';
import { IconButton } from './button';
import { cx } from './cx';
import { DialogHold } from './dialog-hold';
import { useFocusBefore } from './focus-before';
import { DialogMarks, type Marks, mayClose } from './unsaved';

/**
 * A window over the page. Escape and a click beside it close it, unless an action in it runs, and after a question where
 * something is written in it that is not saved.
 */
export function Dialog({
  open,
  onClose,
  title,
  description,
  children,
  wide = false,
  stays = false,
}: {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly title: string;
  readonly description?: ReactNode;
  readonly children: ReactNode;
  readonly wide?: boolean;
  /** Only what is inside closes it. */
  readonly stays?: boolean;
}) {
  const before = useFocusBefore(open);
  const [holds, setHolds] = useState(0);
  const [marks] = useState<Marks>(() => new Set());
  const hold = useCallback(() => {
    setHolds((count) => count + 1);
    return () => setHolds((count) => count - 1);
  }, []);
  const change = (next: boolean): void => {
    if (!next && !stays && holds === 0 && mayClose(marks)) onClose();
  };
  return (
    <Base.Root open={open} onOpenChange={change}>
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-40 bg-black/45" />
        <Base.Popup
          finalFocus={before}
          className={cx(
            'fixed top-1/2 left-1/2 z-50 flex max-h-[calc(100dvh-2rem)] w-[calc(100vw-2rem)] -translate-x-1/2 -translate-y-1/2 flex-col rounded-xl border border-line bg-raised text-text shadow-2xl outline-none',
            wide ? 'max-w-3xl' : 'max-w-md',
          )}
        >
          <div className="flex items-start justify-between gap-4 border-b border-line px-4 py-3">
            <div>
              <Base.Title className="text-base font-semibold">{title}</Base.Title>
              {description !== undefined && (
                <Base.Description className="text-sm text-muted">{description}</Base.Description>
              )}
            </div>
            {!stays && (
              <Base.Close
                disabled={holds > 0}
                render={<IconButton label="Close" icon={<X size={16} aria-hidden />} />}
              />
            )}
          </div>
          <div className="overflow-y-auto p-4">
            <DialogHold value={hold}>
              <DialogMarks value={marks}>{children}</DialogMarks>
            </DialogHold>
          </div>
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}
