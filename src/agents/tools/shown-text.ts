import type { SecretHider } from '../../infra/diagnostics/index.js';
import { storableText } from '../../kernel/storable-text.js';

export const shownCharsDefault = 20_000;

/**
 * An answer in the form that may be stored and shown to a model: without secrets, limited in length, valid Unicode.
 */
export function shownText(
  text: string,
  hide: SecretHider,
  charsMax = shownCharsDefault,
): { readonly text: string; readonly truncated: boolean } {
  const whole = storableText(text);
  // Secrets are removed before the cut: a secret that is cut in two would leave a part that no pattern recognizes.
  const shown = hide(whole, charsMax);
  return { text: shown.slice(0, charsMax).toWellFormed(), truncated: whole.length > charsMax };
}
