import { randomUUID } from 'node:crypto';
import { parseTriggerConfig } from '../../../src/automation/triggers/config/trigger-config.js';
import { limitsOf } from '../../../src/kernel/plans/index.js';
import type { LiveTrigger } from '../../../src/automation/triggers/live-triggers.js';
import type { TenantScope } from '../../../src/kernel/tenant-scope.js';

/** A webhook trigger as the runner of messages knows it: enabled, without a secret, answering by callback. */
export function liveTrigger(scope: TenantScope, id: string): LiveTrigger {
  return {
    id,
    scope,
    limits: limitsOf('free', {}),
    agentId: randomUUID(),
    enabled: true,
    suspended: false,
    revision: 1,
    parsed: parseTriggerConfig('webhook', {
      auth: { type: 'none' },
      execution: { mode: 'async', callback: { url: 'https://receiver.example/' } },
    }),
    secrets: [],
    formerSecretUntilMs: 0,
  };
}
