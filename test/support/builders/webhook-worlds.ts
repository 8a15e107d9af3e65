// Webhooks with every fault of a message, its trigger, its sender or its tenant, and what becomes of a request to them.
import { randomUUID } from 'node:crypto';
import { systemTime } from '../../../cluster/index.js';
import { systemIds } from '../../../src/infra/platform/index.js';
import { limitsOf } from '../../../src/kernel/plans/index.js';
import { PlatformError } from '../../../src/kernel/errors.js';
import { type TenantScope, tenantScope } from '../../../src/kernel/tenant-scope.js';
import { createIntake, type IntakeParts } from '../../../src/automation/intake/create-intake.js';
import type {
  WebhookCheckParts,
  WebhookChecks,
} from '../../../src/automation/intake/pipeline/webhook-checks.js';
import { RepeatedMessages } from '../../../src/automation/intake/repeated-messages.js';
import type { LiveTrigger } from '../../../src/automation/triggers/live-triggers.js';
import { parseTriggerConfig } from '../../../src/automation/triggers/config/trigger-config.js';

/** Possible faults of a message, its trigger or its tenant. */
interface Faults {
  readonly unknown: boolean;
  readonly unsigned: boolean;
  readonly addressFull: boolean;
  readonly disabled: boolean;
  readonly unpublished: boolean;
  readonly refusedNames: boolean;
  readonly longKey: boolean;
  readonly repeated: boolean;
  readonly noSender: boolean;
  readonly notListed: boolean;
  readonly denied: boolean;
  readonly takenOver: boolean;
  readonly noText: boolean;
  readonly rateFull: boolean;
  readonly noTokens: boolean;
}

export interface World extends Faults {
  readonly channel: boolean;
  readonly mode: 'sync' | 'async' | 'buffered';
  /** Whether its webhook demands a signature. */
  readonly signed: boolean;
  /** Whether the tenant's window refused very many requests of the sender's address. */
  readonly refusedOften: boolean;
}

export const fine: World = {
  unknown: false,
  unsigned: false,
  addressFull: false,
  disabled: false,
  unpublished: false,
  refusedNames: false,
  longKey: false,
  repeated: false,
  noSender: false,
  notListed: false,
  denied: false,
  takenOver: false,
  noText: false,
  rateFull: false,
  noTokens: false,
  channel: false,
  mode: 'async',
  signed: false,
  refusedOften: false,
};

export const scope: TenantScope = tenantScope(randomUUID());
export const triggerId = randomUUID();
const firstAnswer = { status: 202, contentType: 'application/json', body: '{"first":true}' };

function triggerIn(world: World) {
  const parsed = parseTriggerConfig('webhook', {
    auth: { type: world.signed ? 'signature' : 'none' },
    ...(world.channel
      ? { channel: { type: 'twilio' } }
      : { session_strategy: { mode: 'derive', fields: ['From'] } }),
    sender_access: {
      mode: 'whitelist',
      identity_field: 'From',
      identifiers: [world.notListed ? '+4912' : '+49171'],
    },
    execution: {
      mode: world.mode === 'sync' ? 'sync' : 'async',
      callback: { url: 'https://receiver.example/' },
      message_buffer: { enabled: world.mode === 'buffered' },
    },
  });
  return {
    id: triggerId,
    scope,
    limits: limitsOf('free', {}),
    agentId: '00000000-0000-4000-8000-000000000001',
    enabled: !world.disabled,
    suspended: false,
    revision: 1,
    parsed,
    secrets: [],
    formerSecretUntilMs: 0,
  };
}

export function payloadIn(world: World): unknown {
  const fields = {
    kind: 'message',
    ...(world.noSender ? {} : { From: '+49171' }),
    ...(world.channel ? { MessageSid: 'SM1' } : {}),
    ...(world.noText ? {} : world.channel ? { Body: 'hello' } : { message: 'hello' }),
  };
  // As an own field, which only a parser makes of this name.
  return world.refusedNames ? JSON.parse(`{"__proto__":1,${JSON.stringify(fields).slice(1)}`) : fields;
}

export interface Parts {
  readonly trigger: LiveTrigger;
  readonly deciding: WebhookCheckParts;
  readonly handling: unknown;
  readonly uncounted: IntakeParts['uncounted'];
  /** The types of the triggers whose messages run. */
  readonly accepted: readonly string[];
  /** What was noted of requests, and how often the tenant's window was to count. */
  readonly counted: () => { readonly noted: readonly string[]; readonly countedWork: number };
}

/** Everything that decides and acts, with the faults of this world. */
export function partsIn(world: World): Parts {
  const trigger = triggerIn(world);
  const found = world.unknown ? undefined : trigger;
  const accepted: string[] = [];
  const noted: string[] = [];
  let countedWork = 0;
  const row = { answer: firstAnswer, state: 'done', is_over: false, payload_hash: '' };
  const reads = {
    inTenant: async (_: unknown, { name }: { name: string }) =>
      name === 'trigger_inbox_by_key' && world.repeated ? [row] : [],
  };
  const store = { inTenant: async () => undefined };
  const repeats = new RepeatedMessages(store as never, reads as never, systemTime);
  const senderBlocks = { isDenied: () => world.denied, isTakenOver: async () => world.takenOver };
  const quota = {
    admitTenantWork: () => {
      countedWork += 1;
      const figures = { limit: 10, remaining: 9, reset: 0 };
      return world.rateFull ? { figures, refusal: new PlatformError('rate_limit_exceeded') } : { figures };
    },
    monthlyRefusal: () => (world.noTokens ? new PlatformError('quota_exceeded') : undefined),
  };
  const deciding: unknown = {
    live: { get: () => found, fresh: async () => found },
    agents: { publishedAgent: () => (world.unpublished ? undefined : {}) },
    authentication: {
      authenticate: () => {
        if (world.unsigned) throw new PlatformError('invalid_signature');
      },
    },
    uncounted: {
      refusal: () => (world.addressFull ? new PlatformError('rate_limit_exceeded') : undefined),
      isRefusedOften: () => world.refusedOften,
      noteRefused: () => void noted.push('refused'),
    },
    turns: {
      tokenRefusal: async () => new PlatformError('quota_exceeded', { message: 'No tokens are left.' }),
    },
    ids: systemIds,
    store,
    repeats,
    senderBlocks,
    quota,
  };
  const handling: unknown = {
    store,
    repeats,
    senderBlocks,
    quota,
    plainTexts: (_: unknown, text: string) => text,
    time: systemTime,
    runner: {
      begin: (_: unknown, onEnd?: () => void) => onEnd?.(),
      run: async () => ({ outcome: 'COMPLETED', content: 'hi', totalTokens: 1, latencyMs: 1 }),
    },
    buffers: { flushOpen: () => undefined, touched: () => undefined },
    measures: {
      accepted: (type: string) => accepted.push(type),
      buffered: () => undefined,
      refused: () => undefined,
    },
  };
  const uncounted = {
    noteEnded: () => void noted.push('ended'),
    noteRefused: () => void noted.push('refused'),
  };
  const counted = () => ({ noted, countedWork });
  return { trigger, deciding: deciding as WebhookCheckParts, handling, uncounted, accepted, counted };
}

export interface Decision {
  readonly runs: boolean;
  /** The sender's answer instead of a run. */
  readonly answer?: unknown;
}

export async function webhookDecision(world: World, parts: Parts, checks: WebhookChecks): Promise<Decision> {
  const intake = createIntake({
    checks,
    uncounted: parts.uncounted,
    rows: {
      // As the commit answers: a session that was taken over refuses the rows that ask.
      inbox: {
        write: async ({ asks }) => ({
          fate: asks && world.takenOver ? 'taken over' : 'accepted',
          buffered: 1,
          seq: 1,
          isBehind: false,
        }),
      },
      reads: { inTenant: async () => [] },
      seal: { seal: () => Buffer.from('sealed') },
      ownKey: () => 'own',
    },
    handling: parts.handling as IntakeParts['handling'],
  });
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    ...(world.longKey ? { 'idempotency-key': 'k'.repeat(300) } : {}),
  };
  const body = Buffer.from(JSON.stringify(payloadIn(world)));
  try {
    const taken = await intake.take(triggerId, {
      body,
      headers,
      urls: () => [],
      address: '',
      requestId: 'r',
    });
    if (parts.accepted.length > 0) return { runs: true };
    const isJson = taken.contentType.startsWith('application/json');
    return { runs: false, answer: isJson ? (JSON.parse(taken.body) as unknown) : taken.body };
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    return { runs: false, answer: error.message };
  }
}
