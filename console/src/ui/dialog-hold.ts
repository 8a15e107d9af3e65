import { createContext, useContext, useEffect } from 'react';

/** Holds the dialog open until the function that it returns is called. */
export type Hold = () => () => void;

export const DialogHold = createContext<Hold | undefined>(undefined);

/** While an action runs, Escape or a click beside the dialog does not close it: its answer may be shown only there. */
export function useDialogHold(isBusy: boolean): void {
  const hold = useContext(DialogHold);
  useEffect(() => (isBusy ? hold?.() : undefined), [isBusy, hold]);
}
