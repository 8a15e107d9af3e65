export { type AuditEntry, recordAudit } from './audit.store.js';
