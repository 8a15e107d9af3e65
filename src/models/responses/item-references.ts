import { invalidField } from '../../kernel/errors.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { isJsonObject } from '../../http/operations/index.js';
import { idOfItem } from './response-id.js';
import type { StoredResponses } from './stored-responses.js';

/** Each is a row to read and open. */
const responsesMax = 100;

interface Reference {
  readonly at: number;
  readonly id: string;
  /** The response that has the item. */
  readonly row: string;
}

/** The input with stored items in the place of their references: some clients send what was stored by its id alone. */
export async function withStoredItems(
  input: unknown,
  scope: TenantScope,
  stored: Pick<StoredResponses, 'items'>,
): Promise<unknown> {
  if (!Array.isArray(input)) return input;
  const items: readonly unknown[] = input;
  const references = items.flatMap((item, at): Reference[] => {
    const id = isJsonObject(item) && item['type'] === 'item_reference' ? item['id'] : undefined;
    const row = typeof id === 'string' ? idOfItem(id) : undefined;
    return typeof id === 'string' && row !== undefined ? [{ at, id, row }] : [];
  });
  if (references.length === 0) return input;
  const rows = new Set(references.map(({ row }) => row));
  if (rows.size > responsesMax) {
    throw invalidField('input', `has references to items of more than ${responsesMax} responses`);
  }
  const found = await stored.items(scope, [...rows]);
  const whole = [...items];
  for (const { at, id } of references) {
    const item = found.get(id);
    if (item === undefined) throw invalidField(`input.${at}.id`, 'names no stored item');
    whole[at] = item;
  }
  return whole;
}
