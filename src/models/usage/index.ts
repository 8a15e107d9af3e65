// The public interface of usage: the cost of every attempt at a vendor, and its payer.
export { usageExport } from './exports.js';
export { enterProcesses } from './earlier-processes.js';
export { openProcesses, processName, type Peers, type Processes } from './processes.js';
export { Ledger, type LedgerOptions } from './ledger.js';
export { ledgerRows, type LedgerRows } from './ledger-rows.js';
export { openAttempts, openCosts } from './open-attempts.store.js';
export {
  type InstallationGroup,
  installationGroups,
  installationTotals,
  totalsOfTenants,
} from './installation.store.js';
export {
  type UsageDay,
  usageByDay,
  usageGroups,
  type UsageGroup,
  type UsageReport,
  usageTotals,
} from './totals.store.js';
export type { CallRow } from './calls.store.js';
export { type ClosedRow, openedTable, type OpenedRow, type RecordedRow } from './usage.store.js';
export { blankPreviews, blankPreviewsOfSession, forgetCalls, forgetUsage } from './retention.store.js';
export { usageRemovals } from './removal.store.js';
export { sumDays } from './days.store.js';
export { dropExpiredMonths } from './partitions.store.js';
