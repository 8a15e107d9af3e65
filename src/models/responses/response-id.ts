const form = /^resp_([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/;

/** The id as clients see it. */
export function shownId(rowId: string): string {
  return `resp_${rowId.replaceAll('-', '')}`;
}

const itemForm = /^(?:msg|rs|fc)_([0-9a-f]{32})[0-9a-f]{4}$/;

/** The response that has the item; undefined for a text that is no id of an item. */
export function idOfItem(shown: string): string | undefined {
  return idOfRow(`resp_${itemForm.exec(shown)?.[1] ?? ''}`);
}

/** Undefined for a text that is no id of a response. */
export function idOfRow(shown: string): string | undefined {
  return form.exec(shown)?.slice(1).join('-');
}
