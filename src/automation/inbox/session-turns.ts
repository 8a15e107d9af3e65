import { sleep, type Time } from '../../../cluster/index.js';
import type { Author } from '../../conversations/invocation/index.js';
import { redactValue } from '../../infra/diagnostics/index.js';
import { PlatformError } from '../../kernel/errors.js';
import type { Quota } from '../../tenancy/quota/index.js';
import type { AgentAdmission, Sessions } from '../../conversations/sessions/index.js';
import type { AttachmentRef, Attachments } from '../../conversations/attachments/index.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { userPartOf } from '../../models/parts/index.js';
import type { AttachmentOrder, TurnOrder, TurnOutcome, TurnPort } from '../triggers/ports.js';

export interface SessionTurnsParts {
  readonly sessions: Pick<Sessions, 'begin' | 'end' | 'isTakenOver'>;
  readonly admission: Pick<AgentAdmission, 'admitUnasked' | 'tokenRefusal' | 'contentRefusal'>;
  readonly attachments: Pick<Attachments, 'read' | 'keep' | 'drop'>;
  readonly quota: Pick<Quota, 'admitTenantWork'>;
  readonly time: Time;
  readonly newId: () => string;
}

/** Short, because the answer goes out this long after the end of a turn that waited. */
const waitingAgainSeconds = 5;

/**
 * The turn waits for a person's decision, for up to seven days, or in its session's queue behind one that does: its
 * message is taken up again later.
 */
export class TurnWaits extends PlatformError {
  constructor(
    message = 'The turn waits for a person to approve the call of a tool. Its answer follows once it has ended.',
  ) {
    super('service_unavailable', { message, retryAfterSeconds: waitingAgainSeconds });
  }
}

const lateMessage =
  'The turn has not ended in time. Read its execution, or send the message again with the same key.';

/** The pause between two reads of a turn whose owner was lost. */
const rereadMs = 500;
/** Time beyond the deadline, for the turns queued ahead and a change of owner. */
const patienceMs = 600_000;

/**
 * Runs turns of triggers in their sessions. The execution's id is fixed beforehand, so submitting the turn again joins
 * it. The outcome is always read from the execution's row.
 */
export class SessionTurns implements TurnPort {
  readonly #parts: SessionTurnsParts;

  constructor(parts: SessionTurnsParts) {
    this.#parts = parts;
  }

  async runTurn(order: TurnOrder): Promise<TurnOutcome> {
    const { time } = this.#parts;
    const known = order.isRepeat ? await this.#outcome(order) : 'unknown';
    if (known !== 'unknown') order.onTaken?.();
    if (known === 'waiting') throw new TurnWaits();
    if (known === 'queued' && order.isOld) throw new TurnWaits(lateMessage);
    if (typeof known === 'object') return known;
    if (known === 'unknown') await this.#admit(order);
    const endsAt = time.monotonicMs() + order.deadlineMs + patienceMs;
    for (;;) {
      await this.#follow(order);
      const outcome = await this.#outcome(order);
      if (outcome !== 'unknown') order.onTaken?.();
      if (outcome === 'waiting') throw new TurnWaits();
      if (typeof outcome === 'object') return outcome;
      if (time.monotonicMs() > endsAt) {
        // If its session has it, it runs some time, for example after the decision that a turn before it waits for.
        throw outcome === 'unknown'
          ? new PlatformError('service_unavailable', { message: lateMessage })
          : new TurnWaits(lateMessage);
      }
      await sleep(time, rereadMs);
    }
  }

  /** When a limit refuses the turn, the message stays in the inbox and is submitted again later. */
  async #admit(order: TurnOrder): Promise<void> {
    const { admission, quota, sessions } = this.#parts;
    try {
      await admission.admitUnasked(order, order.agentId);
    } catch (refusal) {
      // A session that people took over records the message for them: no model runs, whatever is used up.
      if (!(await sessions.isTakenOver(order.scope, order.sessionId))) throw refusal;
    }
    if (order.isCounted) return;
    const { refusal } = await quota.admitTenantWork(order.scope, order.limits);
    if (refusal !== undefined) throw refusal;
  }

  async keepAttachments(order: AttachmentOrder): Promise<readonly AttachmentRef[]> {
    const { admission, attachments } = this.#parts;
    const { scope, agentId, sessionId, given } = order;
    const read = await attachments.read(scope, given);
    const refusal = await admission.contentRefusal(order, agentId, read.map(userPartOf));
    if (refusal !== undefined) throw refusal;
    return attachments.keep(scope, sessionId, read);
  }

  dropAttachments(scope: TenantScope, refs: readonly AttachmentRef[]): Promise<void> {
    return this.#parts.attachments.drop(scope, refs);
  }

  async outcomeOf(order: Pick<TurnOrder, 'scope' | 'executionId'>): Promise<TurnOutcome | undefined> {
    const known = await this.#outcome(order);
    return typeof known === 'object' ? known : undefined;
  }

  async isKnown(order: Pick<TurnOrder, 'scope' | 'executionId'>): Promise<boolean> {
    return (await this.#outcome(order)) !== 'unknown';
  }

  tokenRefusal(
    tenant: Pick<TurnOrder, 'scope' | 'limits' | 'keyId'>,
    agentId: string,
  ): Promise<PlatformError | undefined> {
    return this.#parts.admission.tokenRefusal(tenant, agentId);
  }

  /** Waits until the turn's events end. The row shows whether the turn succeeded. */
  async #follow(order: TurnOrder): Promise<void> {
    const { sessions, newId } = this.#parts;
    const { scope, context } = order;
    const events = await sessions.begin(
      {
        scope,
        sessionId: order.sessionId,
        mustExist: false,
        ownSessionsOnly: order.invokedBy?.ownSessionsOnly ?? false,
        agentId: order.agentId,
        executionId: order.executionId,
        channel: order.channel,
        consumerKey: order.consumerKey,
        sharesSession: order.sharesSession,
        consumerDisplayName: order.consumerDisplayName,
        nameInferred: true,
        input: {
          message: order.message,
          ...(order.attachments.length === 0 ? {} : { attachments: order.attachments }),
          author: authorOf(order),
          declared_context: Object.fromEntries(
            Object.entries(context).map(([name, value]) => [name, redactValue(name, value)]),
          ),
          accepted_fields: [],
          ignored_fields: [],
          quick_replies: false,
          // A trigger uses published versions only.
          role: 'member',
          ...(order.traceparent === undefined ? {} : { traceparent: order.traceparent }),
        },
        context,
        bindings: {},
        metadata: {},
        keyId: order.keyId ?? null,
        userId: order.userId ?? null,
        triggerId: order.triggerId,
        deadlineMs: order.deadlineMs,
      },
      newId(),
    );
    let isTaken = false;
    try {
      for await (const { elsewhere, events: batch } of events) {
        if (elsewhere) return;
        // The stream may also end before its first message, with the owner of the session.
        if (!isTaken) order.onTaken?.();
        isTaken = true;
        if (batch.some(({ event: { type } }) => type === 'done' || type === 'approval')) return;
      }
    } catch {
      // Losing the connection to the owner says nothing about the turn: its row, or the next read, does.
    }
  }

  /**
   * Undefined while the turn runs; `unknown` before any session has it; `queued` behind other turns of its session;
   * `waiting` for a person's decision.
   */
  async #outcome({
    scope,
    executionId,
  }: Pick<TurnOrder, 'scope' | 'executionId'>): Promise<
    TurnOutcome | 'unknown' | 'waiting' | 'queued' | undefined
  > {
    const row = await this.#parts.sessions.end(scope, executionId);
    if (row === undefined) return 'unknown';
    if (row.status === 'waiting' || row.status === 'queued') return row.status;
    if (row.outcome === null) return undefined;
    return {
      outcome: row.outcome,
      content: row.output ?? '',
      totalTokens: row.usage?.total_tokens ?? 0,
      latencyMs: row.latency_ms ?? 0,
      error: row.error === null ? undefined : { code: row.error.code, message: row.error.message },
    };
  }
}

/** A person who runs a trigger by hand is the author, whichever consumer the message names. */
function authorOf({ invokedBy, consumerKey, otherConsumers: others, triggerId }: TurnOrder): Author {
  if (invokedBy !== undefined) return invokedBy.author;
  return consumerKey === undefined
    ? { kind: 'trigger', id: triggerId }
    : { kind: 'consumer', id: consumerKey, ...(others.length === 0 ? {} : { others }) };
}
