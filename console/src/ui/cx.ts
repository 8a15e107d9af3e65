/** Joins the names of classes that apply. */
export function cx(...names: readonly (string | false | undefined)[]): string {
  return names.filter(Boolean).join(' ');
}
