import { Toast } from '@base-ui/react/toast';
import { X } from 'lucide-react';
import type { ReactNode } from 'react';
import { IconButton } from './button';
import { cx } from './cx';

const manager = Toast.createToastManager();

/** Says that an action succeeded. */
export function succeeded(title: string, description?: string): void {
  manager.add({ title, ...(description !== undefined && { description }), type: 'good' });
}

/** Says why an action failed. */
export function failed(title: string, error: unknown): void {
  const description = error instanceof Error ? error.message : 'An unexpected error occurred.';
  manager.add({ title, description, type: 'bad', priority: 'high', timeout: 10_000 });
}

function Shown() {
  const { toasts } = Toast.useToastManager();
  return toasts.map((toast) => (
    <Toast.Root
      key={toast.id}
      toast={toast}
      className={cx(
        'rounded-lg border border-l-4 border-line bg-raised text-text shadow-lg',
        toast.type === 'bad' ? 'border-l-bad' : 'border-l-good',
        'data-ending-style:opacity-0 data-limited:hidden',
      )}
    >
      <Toast.Content className="flex items-start gap-2 p-3">
        <div className="min-w-0 flex-1 wrap-anywhere">
          <Toast.Title className="text-sm font-semibold" />
          <Toast.Description className="text-sm text-muted" />
        </div>
        <Toast.Close
          render={
            <IconButton
              label="Dismiss"
              className="pointer-events-auto h-6 !w-6"
              icon={<X size={14} aria-hidden />}
            />
          }
        />
      </Toast.Content>
    </Toast.Root>
  ));
}

/** In the empty middle of the top bar. What lies under a message still takes clicks: it may be the next button to press. */
export function Toasts({ children }: { readonly children: ReactNode }) {
  return (
    <Toast.Provider toastManager={manager} limit={4}>
      {children}
      <Toast.Portal>
        <Toast.Viewport className="pointer-events-none fixed top-2 left-1/2 z-60 flex -translate-x-1/2 w-[min(22rem,calc(100vw-2rem))] flex-col gap-2 outline-none">
          <Shown />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}
