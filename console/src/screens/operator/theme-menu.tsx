import { Menu } from '@base-ui/react/menu';
import { Check, SunMoon } from 'lucide-react';
import { chooseTheme, theme, themes } from '../../session/theme';
import { useValue } from '../../session/value';
import { buttonClass } from '../../ui/button';
import { menuItemClass, MenuPopup } from '../../ui/menu';

const names = { system: 'As the system', light: 'Light', dark: 'Dark' } as const;

export function ThemeMenu() {
  const chosen = useValue(theme);
  return (
    <Menu.Root>
      <Menu.Trigger className={buttonClass('quiet')} aria-label="Theme">
        <SunMoon size={16} aria-hidden />
      </Menu.Trigger>
      <MenuPopup>
        <Menu.RadioGroup value={chosen} onValueChange={chooseTheme}>
          {themes.map((one) => (
            <Menu.RadioItem key={one} value={one} className={menuItemClass} closeOnClick>
              <span className="w-4">
                <Menu.RadioItemIndicator render={<Check size={14} aria-hidden />} />
              </span>
              {names[one]}
            </Menu.RadioItem>
          ))}
        </Menu.RadioGroup>
      </MenuPopup>
    </Menu.Root>
  );
}
