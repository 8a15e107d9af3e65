import { Menu } from '@base-ui/react/menu';
import { Check, CircleUser } from 'lucide-react';
import { chooseTheme, theme, themes } from '../session/theme';
import { useSession } from '../session/use-session';
import { useValue } from '../session/value';
import { buttonClass } from '../ui/button';
import { menuItemClass, MenuPopup } from '../ui/menu';
import { leaveAccount } from './leave-account';

/** The person, the theme, and the way out. */
export function AccountMenu() {
  const { user } = useSession();
  const chosen = useValue(theme);
  return (
    <Menu.Root>
      <Menu.Trigger className={buttonClass('quiet')} aria-label={`Account of ${user.name}`}>
        <CircleUser size={16} aria-hidden />
        <span className="max-w-40 truncate max-sm:hidden">{user.name}</span>
      </Menu.Trigger>
      <MenuPopup>
        <div className="max-w-64 truncate px-2 py-1.5 text-xs text-muted">{user.email}</div>
        <Menu.Separator className="my-1 h-px bg-line" />
        <Menu.RadioGroup value={chosen} onValueChange={chooseTheme}>
          {themes.map((one) => (
            <Menu.RadioItem key={one} value={one} className={menuItemClass} closeOnClick>
              <span className="w-4">
                <Menu.RadioItemIndicator render={<Check size={14} aria-hidden />} />
              </span>
              {{ system: 'As the system', light: 'Light', dark: 'Dark' }[one]}
            </Menu.RadioItem>
          ))}
        </Menu.RadioGroup>
        <Menu.Separator className="my-1 h-px bg-line" />
        <Menu.Item className={menuItemClass} onClick={leaveAccount}>
          Sign out
        </Menu.Item>
      </MenuPopup>
    </Menu.Root>
  );
}
