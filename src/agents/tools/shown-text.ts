import type { SecretHider } from '../../infra/diagnostics/index.js';

export const shownCharsDefault = 20_000;

/** An answer as it may be stored and shown to a model: without secrets, within bounds, all of it storable text. */
export function shownText(
  text: string,
  hide: SecretHider,
  charsMax = shownCharsDefault,
): { readonly text: string; readonly truncated: boolean } {
  const whole = text.replaceAll('\0', '').toWellFormed();
  // Hidden before it is cut: of a secret that the end cuts through, a part would be left that nobody knows by its look.
  const shown = hide(whole, charsMax);
  return { text: shown.slice(0, charsMax).toWellFormed(), truncated: whole.length > charsMax };
}
