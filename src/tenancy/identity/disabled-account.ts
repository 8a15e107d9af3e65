import { PlatformError } from '../../kernel/errors.js';

/** Every credential of a disabled user is refused with it. */
export function accountDisabled(): PlatformError {
  return new PlatformError('authentication_required', {
    message: 'This account is disabled. Ask the operator of the installation.',
  });
}
