import { Menu } from '@base-ui/react/menu';
import type { ReactNode } from 'react';

export const menuItemClass =
  'flex w-full items-center gap-2 rounded px-2 py-1.5 text-sm text-text outline-none select-none data-highlighted:bg-hover data-disabled:opacity-60';

/** The list of a menu. Its entries are `Menu.Item` with `menuItemClass`. */
export function MenuPopup({ children }: { readonly children: ReactNode }) {
  return (
    <Menu.Portal>
      <Menu.Positioner sideOffset={4} align="start" className="z-50">
        <Menu.Popup className="min-w-40 rounded-lg border border-line bg-raised p-1 text-text shadow-lg outline-none">
          {children}
        </Menu.Popup>
      </Menu.Positioner>
    </Menu.Portal>
  );
}
