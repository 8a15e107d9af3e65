import type { Listing } from '#client';
import type { Context } from './developer-command.js';

interface Page<Item> {
  readonly data: readonly Item[];
}

interface Columns<Item> {
  readonly head: readonly string[];
  readonly row: (item: Item) => readonly string[];
}

const limitDefault = 20;
const pageMax = 100;

/** The first items of a list: as a table, or each as a line of JSON. */
export async function printPage<Item>(
  { given, out, wrong }: Context,
  load: (limit: number) => Listing<Page<Item>>,
  { head, row }: Columns<Item>,
): Promise<void> {
  const most = Number(given.text('limit') ?? limitDefault);
  if (!Number.isInteger(most) || most < 1) throw wrong('--limit must be a whole number from 1');
  const items: Item[] = [];
  for await (const item of load(Math.min(most, pageMax))) {
    items.push(item);
    if (items.length === most) break;
  }
  if (given.flag('json')) for (const item of items) out.json(item);
  else out.rows(head, items.map(row));
}
