import { ActorError, ClusterError } from '../../../cluster/index.js';
import { turnEventsFromWire } from '../../../src/conversations/sessions/wire/turn-events.js';
import { controlToWire } from '../../../src/conversations/sessions/wire/session-requests.js';
import { turnToWire } from '../../../src/conversations/sessions/wire/turns.js';
import type { SeededRandom } from '../../../cluster/simulation/virtual-time.js';
import type { World } from '../world.js';
import { simulatedAgent } from './agent.js';
import type { ConversationGuest, ConversationNode } from './guest.js';
import type { MessageNode } from './message-node.js';
import { keyOf } from './session-tables.js';
import { messageFor } from './vendor.js';

export const sessions = [1, 2, 3, 4].map((nth) => ({
  tenantId: `00000000-0000-4000-8000-00000000000${1 + (nth % 2)}`,
  sessionId: `00000000-0000-4000-8000-0000000001${nth}0`,
}));

/** A request for a turn, as its sender saw it. */
export interface SentTurn {
  readonly executionId: string;
  readonly tenantId: string;
  readonly sessionId: string;
  readonly origin: { readonly isDead: boolean };
  readonly sentAtMs: number;
  /** When its acceptance was answered, or its first event came. */
  acceptedAtMs: number | undefined;
  ended: boolean;
  /** The code of a refusal. */
  error: string | undefined;
  /** As its reader saw the end. */
  outcome: string | undefined;
  response: string | undefined;
}

/** Longer than any turn of the load takes by itself. */
const turnDeadlineMs = 20_000;
const acceptMs = 15_000;
const readMs = 90_000;
const burstTurns = 45;
/** A request that ended without an answer may be executed until then: a statement that is on its way. */
const unknownMs = 15_000;

/**
 * Turns of people and programs, from all nodes: some sent again under their id by another process, at once or later;
 * some read, some cancelled; sessions that people take over for a while.
 */
export class ConversationLoad {
  readonly sent: SentTurn[] = [];
  readonly #world: World;
  readonly #guest: ConversationGuest;
  readonly #random: SeededRandom;
  #isOn = true;
  #turns = 0;

  constructor(world: World, guest: ConversationGuest, random: SeededRandom) {
    this.#world = world;
    this.#guest = guest;
    this.#random = random;
  }

  start(): void {
    this.#world.time.after(this.#random.between(100, 900), () => {
      if (!this.#isOn) return;
      this.#send();
      this.start();
    });
  }

  /** More turns of one session at once than its queue takes. */
  burst(): void {
    const session = this.#random.pick(sessions);
    for (let count = 0; count < burstTurns; count += 1) this.#turn(session, ...this.#newTurn(0));
  }

  stop(): void {
    this.#isOn = false;
  }

  /** Takes sessions back that people took over. */
  engageAll(): void {
    for (const session of sessions) {
      const row = this.#guest.tables.rows.sessions.get(keyOf(session.tenantId, session.sessionId));
      if (row?.control_mode === 'manual_handoff') void this.#control(session, 'engaged');
    }
  }

  get openNodes(): readonly ConversationNode[] {
    return this.#world.living.flatMap(({ host }) => {
      const node = this.#guest.nodes.get(host);
      return node?.isOpen === true ? [node] : [];
    });
  }

  #send(): void {
    const random = this.#random;
    if (this.openNodes.length === 0) return;
    const session = random.pick(sessions);
    const kind = random.fraction();
    if (kind < 0.05) return void this.#control(session, 'handoff');
    if (kind < 0.1) return void this.#control(session, 'engaged');
    if (kind < 0.16) return this.#cancel(session);
    const turn = this.#newTurn(random.between(0, 2));
    const send = (): void => this.#turn(session, ...turn);
    send();
    if (!random.chance(0.25)) return;
    if (random.chance(0.4)) send();
    else this.#world.time.after(random.between(1, 9_000), send);
  }

  #newTurn(rounds: number): readonly [executionId: string, message: string] {
    this.#turns += 1;
    const executionId = `00000000-0000-4000-8001-${String(this.#turns).padStart(12, '0')}`;
    const tools = Array.from({ length: rounds }, () => this.#random.pick(['book', 'look'] as const));
    return [executionId, messageFor(`${this.#turns}`, tools)];
  }

  #turn(session: (typeof sessions)[number], executionId: string, message: string): void {
    const [first] = this.openNodes;
    if (first === undefined) return;
    const node = this.#random.pick(this.openNodes);
    const sent: SentTurn = {
      ...session,
      executionId,
      origin: node.host,
      sentAtMs: this.#world.time.monotonicMs(),
      acceptedAtMs: undefined,
      ended: false,
      error: undefined,
      outcome: undefined,
      response: undefined,
    };
    this.sent.push(sent);
    const reads = this.#random.chance(0.5);
    (reads ? this.#read(node, sent, message) : this.#accept(node, sent, message))
      .catch((error: unknown) => {
        sent.error = codeOf(error);
      })
      .finally(() => {
        sent.ended = true;
      });
  }

  async #accept({ session }: ConversationNode, sent: SentTurn, message: string): Promise<void> {
    const turn = wanted(sent, message);
    await session(sent.tenantId, sent.sessionId).accept({ turn }, { deadlineMs: acceptMs });
    sent.acceptedAtMs = this.#world.time.monotonicMs();
  }

  async #read({ session }: ConversationNode, sent: SentTurn, message: string): Promise<void> {
    const reference = session(sent.tenantId, sent.sessionId);
    const follower = this.#random.id();
    const turn = wanted(sent, message);
    for await (const part of reference.run({ turn, after: 0, follower }, { deadlineMs: readMs })) {
      const { events, barrier, elsewhere } = turnEventsFromWire(part);
      sent.acceptedAtMs ??= this.#world.time.monotonicMs();
      if (elsewhere) return;
      if (barrier > 0) {
        reference.passed({ follower, barrier }, { deadlineMs: acceptMs }).catch(() => {
          this.#guest.reports += 1;
        });
      }
      for (const { event } of events) {
        if (event.type === 'response') sent.response = event.content;
        if (event.type === 'done') sent.outcome = event.outcome;
      }
      if (sent.outcome !== undefined) return;
    }
  }

  #cancel({ tenantId, sessionId }: (typeof sessions)[number]): void {
    const { session } = this.#random.pick(this.openNodes);
    session(tenantId, sessionId)
      .cancel({ by: 'simulated', executionId: undefined }, { deadlineMs: acceptMs })
      .catch(() => {
        this.#guest.reports += 1;
      });
  }

  async #control(
    { tenantId, sessionId }: (typeof sessions)[number],
    change: 'handoff' | 'engaged',
  ): Promise<void> {
    if (this.openNodes.length === 0) return;
    const { session, messages } = this.#random.pick(this.openNodes);
    const now = (): number => this.#world.time.monotonicMs();
    const askedAtMs = now();
    if (change === 'engaged') {
      this.#guest.handedOff.delete(sessionId);
      this.#guest.silenced.delete(sessionId);
      this.#engagedUntilMs.set(sessionId, Number.POSITIVE_INFINITY);
      this.#takenBack.set(sessionId, (this.#takenBack.get(sessionId) ?? 0) + 1);
    }
    const request = {
      change,
      reason: undefined,
      by: 'simulated',
      expiresInSeconds: undefined,
      ifEpoch: undefined,
    };
    let isKnown = false;
    try {
      await session(tenantId, sessionId).control(controlToWire(request), { deadlineMs: acceptMs });
      isKnown = true;
    } catch {
      // Not known: whoever sent it asks again.
      this.#guest.reports += 1;
    }
    if (change === 'engaged') this.#engagedUntilMs.set(sessionId, now() + (isKnown ? 0 : unknownMs));
    // Otherwise a request to engage, sent before, may have been executed after this one.
    else if (isKnown && (this.#engagedUntilMs.get(sessionId) ?? 0) < askedAtMs) {
      this.#guest.handedOff.add(sessionId);
      await this.#silence(messages, tenantId, sessionId);
    }
  }

  /** The handoff is answered once no answer of the session is being sent. */
  async #silence(messages: MessageNode, tenantId: string, sessionId: string): Promise<void> {
    const askedAgain = this.#takenBack.get(sessionId);
    try {
      await messages.quiet(tenantId, sessionId);
    } catch {
      // Not answered.
      this.#guest.reports += 1;
      return;
    }
    if (askedAgain === this.#takenBack.get(sessionId)) this.#guest.silenced.add(sessionId);
  }

  /** How often a session was taken back. */
  readonly #takenBack = new Map<string, number>();

  /** Until when a request to take the session back may be executed. */
  readonly #engagedUntilMs = new Map<string, number>();
}

function wanted({ executionId }: SentTurn, message: string) {
  return turnToWire({
    executionId,
    agentId: simulatedAgent.id,
    mustExist: false,
    ownSessionsOnly: false,
    channel: 'chat',
    consumerKey: undefined,
    consumerDisplayName: undefined,
    nameInferred: false,
    input: {
      message,
      author: { kind: 'key', id: '00000000-0000-4000-8000-0000000000ff' },
      declared_context: null,
      accepted_fields: ['message'],
      ignored_fields: [],
      quick_replies: false,
      role: 'owner',
    },
    context: {},
    bindings: {},
    metadata: {},
    keyId: null,
    userId: null,
    triggerId: undefined,
    deadlineMs: turnDeadlineMs,
  });
}

function codeOf(error: unknown): string {
  if (error instanceof ActorError) return error.code;
  if (error instanceof ClusterError) return error.tag;
  return `untyped: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}
