-- The revoked keys of a tenant by their age, and the number of the others (src/tenancy/keys): a tenant may have revoked
-- far more keys than it has.
--
-- outside a transaction: nodes write keys while the index is built
-- The index that goes is there only if this file was cut off before.
-- contract: 0.1.0
drop index concurrently if exists api_keys_revoked;
create index concurrently api_keys_revoked on api_keys (tenant_id, revoked_at);
