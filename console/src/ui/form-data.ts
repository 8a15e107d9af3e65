/** The text of one field of a submitted form. */
export function textIn(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === 'string' ? value : '';
}

/** The number of one field; undefined where nothing was written. */
export function numberIn(form: FormData, name: string): number | undefined {
  const text = textIn(form, name).trim();
  return text === '' ? undefined : Number(text);
}

/** The entries of one field, separated by commas or spaces; undefined where nothing was written. */
export function listIn(form: FormData, name: string): string[] | undefined {
  const entries = textIn(form, name)
    .split(/[\s,]+/)
    .filter(Boolean);
  return entries.length === 0 ? undefined : entries;
}
