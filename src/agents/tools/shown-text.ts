export const shownCharsDefault = 20_000;

/** An answer as it may be stored and shown to a model: without secrets, within bounds, all of it storable text. */
export function shownText(
  text: string,
  hide: (text: string) => string,
  charsMax = shownCharsDefault,
): { readonly text: string; readonly truncated: boolean } {
  // Secrets first: a cut through one would leave a part of it that no longer looks like it.
  const whole = hide(text.replaceAll('\0', '').toWellFormed());
  return { text: whole.slice(0, charsMax).toWellFormed(), truncated: whole.length > charsMax };
}
