import { useSyncExternalStore } from 'react';

/** What the address names behind `#`: an operation, a group, `errors`, or nothing. */
export function useAddress(): string {
  return useSyncExternalStore(follow, read);
}

function follow(changed: () => void): () => void {
  addEventListener('hashchange', changed);
  return () => removeEventListener('hashchange', changed);
}

function read(): string {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    // Not written by this page.
    return '';
  }
}
