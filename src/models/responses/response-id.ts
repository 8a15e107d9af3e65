const form = /^resp_([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/;

/** The id as clients see it. */
export function shownId(rowId: string): string {
  return `resp_${rowId.replaceAll('-', '')}`;
}

/** Undefined for a text that is no id of a response. */
export function idOfRow(shown: string): string | undefined {
  return form.exec(shown)?.slice(1).join('-');
}
