import { randomBytes } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import { systemRandom, systemTime, type Time } from '../../../cluster/index.js';
import type { SenderBlock } from '../../../src/automation/messages/sender-blocks.js';
import { MessageSealer } from '../../../src/automation/messages/message-payload.js';
import type { DeliveryContent } from '../../../src/automation/outbox/delivery-content.js';
import { deliveryRows } from '../../../src/automation/outbox/delivery-rows.js';
import { Sender, type SenderParts } from '../../../src/automation/outbox/sender.js';
import { parseTriggerConfig } from '../../../src/automation/triggers/config/trigger-config.js';
import { EgressError } from '../../../src/infra/egress/index.js';
import { systemPlatform } from '../../../src/infra/platform/index.js';
import { createSealer } from '../../../src/infra/sealing/index.js';
import { type BatchWriters, type Store, StoreError } from '../../../src/infra/storage/index.js';
import { tenantScope } from '../../../src/kernel/tenant-scope.js';
import { type EndedMessage, type EndedMessages, finished } from './ended-messages.js';

/** The batch that records an attempt. */
export const sendingOn = 'batch_send_on_answers';

/** Of the contents that `sending` sends. */
export const seal = new MessageSealer(
  createSealer({ masterKey: randomBytes(32), random: systemPlatform.random }),
);

/** What makes a content the answer to a mail. */
export const byMail: Partial<DeliveryContent> = {
  reply: { to: 'ada@example.com', from: 'agent@troupe.example.com' },
  mail: { subject: 'Hello', thread: 'thread', references: [] },
};

export interface SendingGiven {
  /** Between chunks. */
  readonly delayMs?: number;
  readonly answer?: (signal: AbortSignal | undefined) => Promise<number>;
  /** Why the session gets no answers of its agent. */
  readonly closedFor?: () => SenderBlock | undefined;
  readonly store?: Store;
  readonly time?: Time;
  readonly mayAct?: () => boolean;
  /** Of the trigger, in place of a callback. */
  readonly channel?: object;
  /** The mail server: then the trigger answers mails. */
  readonly mail?: SenderParts['mail']['send'];
  /** So many records of an attempt fail. */
  readonly failsToRecord?: number;
}

/** A sender over the store of the messages and a receiver that the test stands in for. */
export function sending(t: ExecutionContext, messages: EndedMessages, given: SendingGiven = {}) {
  const { delayMs = 0, answer = async () => 200, time = systemTime, mayAct = () => true } = given;
  const changed: (() => void)[] = [];
  const rows: string[] = [];
  const sent: string[] = [];
  const egress: SenderParts['egress'] = {
    fetchGuarded: async ({ headers, url, mayBegin, signal }) => {
      if (mayBegin?.() === false)
        throw new EgressError('withdrawn', 'not sent', { host: 'receiver.test', neverSent: true });
      sent.push(String(headers?.['idempotency-key']));
      return {
        status: await answer([signal ?? []].flat()[0]),
        headers: {},
        url: String(url),
        body: Buffer.alloc(0),
        truncated: false,
      };
    },
  };
  const webhook = () =>
    parseTriggerConfig('webhook', {
      auth: { type: 'none' },
      ...(given.channel === undefined ? {} : { channel: given.channel }),
      execution: {
        mode: 'async',
        ...(given.channel === undefined ? { callback: { url: 'https://receiver.example/' } } : {}),
        split_config: { enabled: true, max_chunk_size: 100, inter_chunk_delay_ms: delayMs },
      },
    });
  const parsed = given.mail === undefined ? webhook() : parseTriggerConfig('email', {});
  const unasked = (what: string) => () => Promise.reject(new Error(`${what} was asked`));
  const sender = new Sender({
    rows:
      given.store === undefined
        ? {
            dueSessions: unasked('a look for sessions'),
            begin: unasked('a claim'),
            giveBack: unasked('a return'),
            isUnderWay: unasked('a look for attempts'),
          }
        : deliveryRows(given.store),
    writers: counting(messages.writers, rows, given.failsToRecord),
    ids: systemPlatform.ids,
    live: {
      get: async (id) => ({ id, scope: tenantScope(id), parsed, secrets: [], formerSecretUntilMs: 0 }),
    },
    seal,
    senderBlocks: { closedFor: async () => given.closedFor?.() },
    feed: {
      subscribe: (_topic, { onDropEverything }) => {
        changed.push(onDropEverything);
        return () => undefined;
      },
    },
    blockTopics: ['sessions'],
    vault: { resolve: unasked('the vault') },
    channels: { twilio: '', whatsapp_cloud: '', slack: '' },
    egress,
    operatorEgress: egress,
    mail: { send: given.mail ?? unasked('the mail server') },
    addresses: {
      sendingAs: async (_trigger, _config, from) => ({ from }),
      requireSender: async () => undefined,
    },
    measures: { attempted: () => undefined },
    time,
    mayAct,
    random: systemRandom,
    scopeOf: tenantScope,
    report: (attempted, error) => {
      if (given.failsToRecord === undefined) t.fail(`${attempted}: ${String(error)}`);
    },
  });
  t.teardown(() => sender.stop());
  const end = (one: EndedMessage, chunks: number, more: Partial<DeliveryContent> = {}): Promise<void> => {
    const { answer: put, ...row } = finished(one, chunks);
    const scope = tenantScope(one.tenant_id);
    const texts = Array.from({ length: chunks }, () => 'text');
    const content = { chunks: texts, context: {}, manual: false, ...more };
    return sender.finish(scope, row, put && { ...put, sealed: seal.seal(scope, content) });
  };
  /** Something that may block a sender has changed. */
  const blocksChanged = (): void => changed.forEach((look) => look());
  return { sender, rows, sent, end, blocksChanged };
}

/** The same, and reports the writes. The first records of an attempt fail. */
function counting(writers: BatchWriters, rows: string[], fails = 0): Pick<BatchWriters, 'writer'> {
  let left = fails;
  return {
    writer: (target, options) => {
      const writer = writers.writer(target, options);
      return {
        get depth() {
          return writer.depth;
        },
        drained: () => writer.drained(),
        write: (row) => {
          rows.push(target.name);
          if (target.name !== sendingOn || left === 0) return writer.write(row);
          left -= 1;
          return Promise.reject(new StoreError('unavailable', 'The database is away'));
        },
      };
    },
  };
}
