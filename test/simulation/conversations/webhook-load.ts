import type { SeededRandom } from '../../../cluster/simulation/virtual-time.js';
import { PlatformError } from '../../../src/kernel/errors.js';
import { StoreError } from '../../../src/infra/storage/index.js';
import type { World } from '../world.js';
import type { ConversationGuest, ConversationNode } from './guest.js';
import { sessions } from './load.js';
import type { Webhook } from './message-node.js';
import { messageFor } from './vendor.js';

/** A webhook with all its repeats, as its sender saw it. */
export interface SentWebhook extends Webhook {
  readonly sentAtMs: number;
  acknowledgedAtMs: number | undefined;
  /** The repeats, and failures that no fault explains. */
  repeats: number;
  problem: string | undefined;
}

const repeatsMax = 5;
const burstWebhooks = 5;

/** Webhooks at any node. Their senders repeat them, with the same key, until they are acknowledged, and some after it. */
export class WebhookLoad {
  readonly sent: SentWebhook[] = [];
  readonly #world: World;
  readonly #guest: ConversationGuest;
  readonly #random: SeededRandom;
  #isOn = true;

  constructor(world: World, guest: ConversationGuest, random: SeededRandom) {
    this.#world = world;
    this.#guest = guest;
    this.#random = random;
  }

  start(): void {
    this.#world.time.after(this.#random.between(300, 2_000), () => {
      if (!this.#isOn) return;
      const session = this.#random.pick(sessions);
      const count = this.#random.chance(0.1) ? burstWebhooks : 1;
      for (let nth = 0; nth < count; nth += 1) this.#send(session);
      this.start();
    });
  }

  stop(): void {
    this.#isOn = false;
  }

  #send(session: (typeof sessions)[number]): void {
    const random = this.#random;
    const key = `w${this.sent.length + 1}`;
    const rounds = Array.from({ length: random.between(0, 1) }, () => random.pick(['book', 'look'] as const));
    const webhook: SentWebhook = {
      ...session,
      key,
      text: messageFor(key, rounds),
      sentAtMs: this.#world.time.monotonicMs(),
      acknowledgedAtMs: undefined,
      repeats: 0,
      problem: undefined,
    };
    this.sent.push(webhook);
    this.#try(webhook);
    if (random.chance(0.15)) this.#world.time.after(random.between(0, 6_000), () => this.#try(webhook));
  }

  #try(webhook: SentWebhook): void {
    const nodes = this.#openNodes();
    if (nodes.length === 0) return this.#again(webhook);
    const node = this.#random.pick(nodes);
    let isAnswered = false;
    node.messages.accept(webhook).then(
      () => {
        isAnswered = true;
        webhook.acknowledgedAtMs ??= this.#world.time.monotonicMs();
      },
      (error: unknown) => {
        isAnswered = true;
        if (!isExpected(error))
          webhook.problem = error instanceof Error ? (error.stack ?? error.message) : String(error);
        this.#again(webhook);
      },
    );
    // A sender waits for the answer of a node that died or froze, and then sends the webhook again.
    this.#world.time.after(12_000, () => {
      if (!isAnswered) this.#again(webhook);
    });
  }

  #again(webhook: SentWebhook): void {
    if (webhook.acknowledgedAtMs !== undefined || webhook.repeats >= repeatsMax) return;
    webhook.repeats += 1;
    this.#world.time.after(this.#random.between(800, 3_000), () => this.#try(webhook));
  }

  #openNodes(): readonly ConversationNode[] {
    return this.#world.living.flatMap(({ host }) => {
      const node = this.#guest.nodes.get(host);
      return node?.isOpen === true ? [node] : [];
    });
  }
}

function isExpected(error: unknown): boolean {
  if (error instanceof StoreError) return error.retryable || error.failure === 'outcome-unknown';
  return error instanceof PlatformError && error.retry === 'later';
}
