-- Whether a member's account is disabled (src/tenancy/identity) decides who may write to an agent as a member.
grant select (disabled_at) on users to troupe_app;
