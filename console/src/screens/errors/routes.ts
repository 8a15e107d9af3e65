import type { NavigationEntry } from '../../frame/navigation';

/** The addresses of this screen, children of `frameRoute`. */
export const errorsRoutes = [] as const;

export const errorsEntries: readonly NavigationEntry[] = [];
