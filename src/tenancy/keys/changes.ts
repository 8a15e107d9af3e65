/** What nodes hear of keys; the subject is the key's id. */
export const changeTopics = {
  /** It goes on, with other figures. */
  changed: 'key',
  /** It is over, and so is everything that was opened with it. */
  revoked: 'key-revoked',
} as const;

/** Name, plan or figures of a tenant changed; the subject is the tenant's id. */
export const tenantTopic = 'tenant';
