import { type Timers, within } from '../../../cluster/index.js';
import type { Expressions } from '../../infra/expressions/index.js';
import type { Store } from '../../infra/storage/index.js';
import type { Quota } from '../../tenancy/quota/index.js';
import type { InboxRunner } from '../inbox/inbox-runner.js';
import type { TriggerMeasures } from '../messages/measures.js';
import { emptyTwiml, type Rendered } from '../outbox/replies/formats.js';
import { recordRefused } from '../../conversations/sessions/index.js';
import { isOpen } from './authentication.js';
import { type CheckedMessage, inboxMessage, payloadFrom } from './incoming-request.js';
import { type InboxRows, placeOf } from './inbox-rows.js';
import { type BlockedMessage, Stop, stopAtFault, unreadable } from './pipeline/stop.js';
import { readQuery } from './read-message.js';
import type { UncountedRequests } from './uncounted-requests.js';

export interface BlockedMessageParts {
  readonly store: Pick<Store, 'inTenant'>;
  readonly rows: Pick<InboxRows, 'write'>;
  readonly quota: Pick<Quota, 'admitTenantWork'>;
  readonly uncounted: Pick<UncountedRequests, 'noteRefused'>;
  readonly runner: Pick<InboxRunner, 'begin'>;
  readonly expressions: Pick<Expressions, 'evaluate'>;
  readonly measures: Pick<TriggerMeasures, 'refused'>;
  readonly time: Timers;
}

/**
 * How long a sender waits until the session has recorded its message: mostly some milliseconds. Slack repeats what it got
 * no answer to within three seconds.
 */
const recordedMs = 2_000;

/** Records messages that a sender block stops, and answers them with nothing. */
export class BlockedMessages {
  readonly #parts: BlockedMessageParts;

  constructor(parts: BlockedMessageParts) {
    this.#parts = parts;
  }

  record(message: BlockedMessage): Promise<Rendered> {
    const { by, incoming, query } = message;
    return by === 'session' && query !== undefined
      ? this.keepForPeople({ ...incoming, query, given: [] })
      : this.#recordExecution(message);
  }

  /**
   * The session records the message for people, without running its agent. The request was counted before. Whoever reads
   * the execution after the answer finds it blocked, unless the session takes long: its message is durable already.
   */
  async keepForPeople(message: CheckedMessage): Promise<Rendered> {
    const { rows, runner, measures, time } = this.#parts;
    measures.refused('session');
    const work = payloadFrom(message);
    const wish = { state: 'running', answer: emptyTwiml, asks: false } as const;
    const { acceptance, row } = await rows.write(message, work, wish);
    if (acceptance.fate === 'accepted') {
      const item = inboxMessage(message, work, placeOf(row, acceptance));
      const recorded = new Promise<void>((resolve) => runner.begin(item, resolve));
      await within(time, recordedMs, recorded, () => undefined);
    }
    return emptyTwiml;
  }

  /**
   * Counts in the tenant's window only and is never refused by it: a sender block gives the same answer under any load,
   * unless the payload is no longer read because of the address.
   */
  async #recordExecution({ incoming }: BlockedMessage): Promise<Rendered> {
    const { store, rows, quota, uncounted, measures } = this.#parts;
    const { trigger, config, request, executionId, derivedSession, consumerKey, sender, window, key } =
      incoming;
    measures.refused('gate');
    const { refusal, figures } = await quota.admitTenantWork(trigger.scope, trigger.limits);
    window.figures ??= figures;
    if (refusal !== undefined && isOpen(config)) {
      uncounted.noteRefused(request.address, request.body.byteLength);
    }
    const message = await this.#textOf(incoming);
    await store.inTenant(trigger.scope, (tx) =>
      recordRefused(tx, {
        id: executionId,
        agentId: trigger.agentId,
        sessionId: derivedSession ?? null,
        triggerId: trigger.id,
        channel: config.channel?.type ?? 'webhook',
        userId: sender.userId ?? null,
        consumerKey,
        message,
        status: 'blocked',
        error: null,
      }),
    );
    if (key !== undefined) {
      const wish = { state: 'done', answer: emptyTwiml, asks: false } as const;
      await rows.write(incoming, payloadFrom({ ...incoming, query: '', given: [] }), wish);
    }
    return emptyTwiml;
  }

  /** Empty if the message has no question. Expressions are not evaluated for a blocked sender. */
  async #textOf({ trigger, config, sources }: BlockedMessage['incoming']): Promise<string> {
    if (config.query_extraction?.mode === 'jmespath') return '';
    const found = await stopAtFault(unreadable, () =>
      readQuery(trigger.scope, config, sources, this.#parts.expressions),
    );
    return found instanceof Stop ? '' : found;
  }
}
