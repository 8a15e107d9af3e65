/** Applies the table of fields to a request and a model. */
import type { LlmRequest, WireDialect, WireField } from '../contract.js';
import type { CatalogueModel } from '../catalogue/model.js';
import { columns, type Family, type FieldRow, fieldTable, type Treatment } from './field-table.js';

const rows: Readonly<Record<WireDialect, ReadonlyMap<string, FieldRow>>> = {
  chat: new Map(fieldTable.chat.map((each) => [each.field, each])),
  messages: new Map(fieldTable.messages.map((each) => [each.field, each])),
};

/** The format that a family's own interface has, among the two that callers use. */
function dialectOf(family: Family): WireDialect | undefined {
  if (family === 'google' || family === 'bedrock' || family === 'sim') return undefined;
  return family === 'anthropic' ? 'messages' : 'chat';
}

/** What becomes of a field at the vendors of a family; fields that the table does not know are unknown elsewhere too. */
export function treatmentOf(dialect: WireDialect, field: string, family: Family): Treatment {
  if (dialectOf(family) === dialect) return 'passed';
  const known = rows[dialect].get(field);
  // The simulated vendor refuses nothing, so that any program can be tried with it.
  if (family === 'sim')
    return known?.elsewhere.every((each) => each === 'translated') === true ? 'translated' : 'ignored';
  const places: readonly Family[] = columns[dialect];
  return known?.elsewhere[places.indexOf(family)] ?? 'refused';
}

export interface Honoured {
  /** The first field that the model's vendor cannot honour. */
  readonly refused: WireField | undefined;
  /** The fields that do not reach the vendor. */
  readonly ignored: readonly WireField[];
}

const everything: Honoured = { refused: undefined, ignored: [] };

export function honouredBy({ wire }: LlmRequest, { family, capabilities }: CatalogueModel): Honoured {
  if (wire === undefined || dialectOf(family) === wire.dialect) return everything;
  let refused: WireField | undefined;
  const ignored: WireField[] = [];
  for (const each of wire.fields) {
    const treatment = treatmentOf(wire.dialect, each.field, family);
    const needs = rows[wire.dialect].get(each.field)?.needs;
    if (treatment === 'refused') refused ??= each;
    else if (
      treatment === 'ignored' ||
      (needs !== undefined && family !== 'sim' && !capabilities.has(needs))
    ) {
      ignored.push(each);
    }
  }
  return { refused, ignored };
}
