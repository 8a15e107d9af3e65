import { storedText } from './stored-text';
import { Value } from './value';

export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const stored = storedText('troupe.theme');

export const theme = new Value<Theme>(themes.find((one) => one === stored.read()) ?? 'system');

export function chooseTheme(next: Theme): void {
  stored.write(next);
  theme.set(next);
  apply();
}

function apply(): void {
  const chosen = theme.get();
  if (chosen === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = chosen;
}

apply();
