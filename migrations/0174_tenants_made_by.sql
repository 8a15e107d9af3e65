-- Whose the tenant was at first. It counts for that user's bound also after somebody else owns it; unknown for tenants
-- made before, or by an operator, or by an older node.
alter table tenants add column made_by uuid references users (id) on delete set null;
create index tenants_made_by on tenants (made_by) where made_by is not null;
