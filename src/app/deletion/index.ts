// The deletion of tenants: what ends at once, and the removal of what they leave.
export { tenantDeletionOperations } from './operations.js';
export { TenantDeletion } from './tenant-deletion.js';
export { TenantRemoval } from './tenant-removal.js';
