/** Tools of a vendor's own that hand a part of the work to another model. */
import type { CatalogueModel } from '../catalogue/model.js';
import type { WireField, WireRequest } from '../contract.js';
import { isRecord } from '../reply-json.js';

/** OpenRouter's tools of this kind. Each has models by default, so that naming none does not help. */
const routerTools: ReadonlySet<unknown> = new Set([
  'openrouter:advisor',
  'openrouter:fusion',
  'openrouter:subagent',
]);
const routerPlugins: ReadonlySet<unknown> = new Set(['fusion']);

/** The first such tool of a request that is sent as it was written. */
export function otherModelIn(
  { dialect, body }: WireRequest,
  { family, name }: CatalogueModel,
): WireField | undefined {
  if (dialect === 'messages') {
    return placeIn(
      body,
      'tools',
      'model',
      (model) => model !== undefined && model !== null && model !== name,
    );
  }
  if (family !== 'openrouter') return undefined;
  return (
    placeIn(body, 'tools', 'type', (type) => routerTools.has(type)) ??
    placeIn(body, 'plugins', 'id', (id) => routerPlugins.has(id))
  );
}

/** The place of the first object of a list whose field has such a value. */
function placeIn(
  body: WireRequest['body'],
  list: string,
  field: string,
  isSuch: (value: unknown) => boolean,
): WireField | undefined {
  const all = body[list];
  if (!Array.isArray(all)) return undefined;
  const at = all.findIndex((each) => isRecord(each) && isSuch(each[field]));
  return at < 0 ? undefined : { field: `${list}.${field}`, path: `${list}.${at}.${field}` };
}
