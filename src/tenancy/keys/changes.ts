/** The topics of changes to keys; the subject is the key's id. */
export const changeTopics = {
  /** The key stays valid with other figures. */
  changed: 'key',
  /** The key stays valid, but no longer from everywhere that it was. */
  addresses: 'key-addresses',
  /** The key has ended, and so has everything that was opened with it. */
  revoked: 'key-revoked',
} as const;

/** The name, plan or figures of a tenant changed; the subject is the tenant's id. */
export const tenantTopic = 'tenant';
