import { useSyncExternalStore } from 'react';

const dark = matchMedia('(prefers-color-scheme: dark)');

function shown(): 'light' | 'dark' {
  const chosen = document.documentElement.dataset['theme'];
  if (chosen === 'light' || chosen === 'dark') return chosen;
  return dark.matches ? 'dark' : 'light';
}

function follow(changed: () => void): () => void {
  const observer = new MutationObserver(changed);
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
  dark.addEventListener('change', changed);
  return () => {
    observer.disconnect();
    dark.removeEventListener('change', changed);
  };
}

/** The theme on screen, for what is drawn and does not know the names of colours. */
export function useShownTheme(): 'light' | 'dark' {
  return useSyncExternalStore(follow, shown);
}
