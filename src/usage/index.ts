// The face of usage: what every attempt at a vendor cost, and who paid.
export { Ledger, type LedgerParts } from './ledger.js';
export type { ClosedRow, OpenedRow } from './usage.store.js';
