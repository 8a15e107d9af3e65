import { signOut } from '../session/session';
import { failed } from '../ui/toasts';
import { mayLeave } from '../ui/unsaved';

/** Signs out, unless the person wants to save something first. */
export function leaveAccount(): void {
  if (mayLeave()) void signOut().catch((error: unknown) => failed('Signing out failed', error));
}
