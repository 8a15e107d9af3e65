import { AlertDialog } from '@base-ui/react/alert-dialog';
import { type ReactNode, useState } from 'react';
import { Button } from './button';
import { useFocusBefore } from './focus-before';
import { failed } from './toasts';

/**
 * Asks before something that cannot be undone. `action` runs while the dialog shows that it is busy; a refusal stays
 * visible as a toast and leaves the dialog open.
 */
export function Confirm({
  open,
  onClose,
  title,
  children,
  verb,
  action,
  danger = true,
}: {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly title: string;
  readonly children?: ReactNode;
  /** What the button says: "Delete", "Revoke". */
  readonly verb: string;
  readonly action: () => Promise<unknown>;
  readonly danger?: boolean;
}) {
  const [busy, setBusy] = useState(false);
  const before = useFocusBefore(open);
  const run = (): void => {
    setBusy(true);
    action()
      .then(onClose, (error: unknown) => failed(`${verb} failed`, error))
      .finally(() => setBusy(false));
  };
  return (
    <AlertDialog.Root open={open} onOpenChange={(next) => !next && !busy && onClose()}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className="fixed inset-0 z-40 bg-black/45" />
        <AlertDialog.Popup
          finalFocus={before}
          className="fixed top-1/2 left-1/2 z-50 w-[calc(100vw-2rem)] max-w-md -translate-x-1/2 -translate-y-1/2 rounded-xl border border-line bg-raised p-4 text-text shadow-2xl outline-none"
        >
          <AlertDialog.Title className="text-base font-semibold">{title}</AlertDialog.Title>
          <AlertDialog.Description render={<div />} className="mt-2 text-sm text-muted">
            {children}
          </AlertDialog.Description>
          <div className="mt-4 flex justify-end gap-2">
            <AlertDialog.Close render={<Button disabled={busy}>Keep</Button>} />
            <Button kind={danger ? 'danger' : 'primary'} busy={busy} onClick={run}>
              {verb}
            </Button>
          </div>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
