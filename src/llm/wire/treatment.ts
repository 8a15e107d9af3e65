/** Applies the table of fields to a request and a model. */
import type { LlmRequest, WireDialect, WireField, WireRequest } from '../contract.js';
import type { CatalogueModel } from '../catalogue/model.js';
import { columns, type Family, type FieldRow, fieldTable, type Treatment } from './field-table.js';
import { otherModelIn } from './other-models.js';
import { unpricedIn } from './unpriced.js';
import { type LostWish, withoutEffect } from './without-effect.js';

const rows: Readonly<Record<WireDialect, ReadonlyMap<string, FieldRow>>> = {
  chat: new Map(fieldTable.chat.map((each) => [each.field, each])),
  messages: new Map(fieldTable.messages.map((each) => [each.field, each])),
};

/** The fields of the formats that become a part of the request. Calls in parallel are in the table. */
const fieldsOf: Readonly<Record<WireDialect, Readonly<Partial<Record<LostWish, string>>>>> = {
  chat: {
    reasoningEffort: 'reasoning_effort',
    temperature: 'temperature',
    topP: 'top_p',
    topK: 'top_k',
    stop: 'stop',
    toolChoice: 'tool_choice',
  },
  messages: {
    reasoningEffort: 'thinking',
    temperature: 'temperature',
    topP: 'top_p',
    topK: 'top_k',
    stop: 'stop_sequences',
    toolChoice: 'tool_choice',
  },
};

/** The format that a family's own interface has, among the two that callers use. */
function dialectOf(family: Family): WireDialect | undefined {
  if (family === 'google' || family === 'bedrock' || family === 'sim') return undefined;
  return family === 'anthropic' ? 'messages' : 'chat';
}

/** What becomes of a field at the vendors of a family; fields that the table does not know are unknown elsewhere too. */
export function treatmentOf(dialect: WireDialect, field: string, family: Family): Treatment {
  const known = rows[dialect].get(field);
  if (dialectOf(family) === dialect) return known?.otherModel?.includes(family) ? 'refused' : 'passed';
  // The simulated vendor refuses nothing, so that any program can be tried with it.
  if (family === 'sim')
    return known?.elsewhere.every((each) => each === 'translated') === true ? 'translated' : 'ignored';
  const places: readonly Family[] = columns[dialect];
  return known?.elsewhere[places.indexOf(family)] ?? 'refused';
}

/** A field that the model's vendor cannot honour, or that the platform does not let it honour. */
export interface RefusedField extends WireField {
  readonly reason: 'unknown' | 'price' | 'model';
}

export interface Honoured {
  /** The first one. */
  readonly refused: RefusedField | undefined;
  /** The fields that do not reach the vendor. */
  readonly ignored: readonly WireField[];
}

const everything: Honoured = { refused: undefined, ignored: [] };

/** What a vendor of the request's own format must not get. */
function withheld(wire: WireRequest, model: CatalogueModel): RefusedField | undefined {
  const choice =
    wire.fields.find(({ field }) => treatmentOf(wire.dialect, field, model.family) === 'refused') ??
    otherModelIn(wire, model);
  if (choice !== undefined) return { ...choice, reason: 'model' };
  const unpriced = unpricedIn(wire, model);
  return unpriced === undefined ? undefined : { ...unpriced, reason: 'price' };
}

/** The fields of the request that are translated for the model and have no effect. */
function lostFields(
  request: LlmRequest,
  { dialect }: WireRequest,
  model: CatalogueModel,
): ReadonlySet<string> {
  const lost = new Set<string>();
  for (const wish of withoutEffect(request, model)) {
    const field = fieldsOf[dialect][wish];
    if (field !== undefined) lost.add(field);
  }
  // Without a format it holds the effort alone.
  if (lost.has('thinking') && request.responseFormat === undefined) lost.add('output_config');
  return lost;
}

export function honouredBy(request: LlmRequest, model: CatalogueModel): Honoured {
  const { wire } = request;
  const { family } = model;
  if (wire === undefined) return everything;
  if (dialectOf(family) === wire.dialect) return { refused: withheld(wire, model), ignored: [] };
  let refused: RefusedField | undefined;
  const ignored: WireField[] = [];
  const lost = lostFields(request, wire, model);
  for (const each of wire.fields) {
    const treatment = treatmentOf(wire.dialect, each.field, family);
    if (treatment === 'refused') refused ??= { ...each, reason: 'unknown' };
    else if (treatment === 'ignored' || lost.has(each.field)) ignored.push(each);
  }
  return { refused, ignored };
}
