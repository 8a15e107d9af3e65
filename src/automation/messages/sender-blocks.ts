import { z } from 'zod';
import type { Time } from '../../../cluster/index.js';
import type { Ready } from '../../kernel/ready.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { HotReads, HotStatement } from '../../infra/storage/index.js';
import type { ConsumerPort } from '../triggers/ports.js';
import { requestsOf, type TriggerConfig } from '../triggers/types/registry.js';
import { checkSender, type FindMember } from './sender-access.js';

export type SenderBlock = 'denylist' | 'session' | 'sender_access';

const takenRow = z.object({ id: z.uuid() });
const takenOver: HotStatement<z.output<typeof takenRow>> = {
  name: 'trigger_sessions_taken_over',
  text: 'select id from taken_over_sessions where tenant_id = $1 and id = any($2::uuid[])',
  row: takenRow,
};

/** The bound of one read. */
const sessionsMax = 200;

interface Question {
  readonly scope: TenantScope;
  readonly sessionIds: Set<string>;
  readonly answer: Promise<ReadonlySet<string>>;
}

/** Whether a sender block applies: the tenant's denylist, the trigger's own rule, or a session that people took over. */
export class SenderBlocks {
  readonly #consumers: ConsumerPort;
  readonly #reads: HotReads;
  readonly #time: Pick<Time, 'soon'>;
  readonly #memberFinder: (scope: TenantScope) => FindMember;
  /** By tenant, the sessions asked for in this tick of the event loop: a burst of messages is one read. */
  readonly #questions = new Map<string, Question>();

  constructor(
    consumers: ConsumerPort,
    reads: HotReads,
    time: Pick<Time, 'soon'>,
    memberFinder: (scope: TenantScope) => FindMember,
  ) {
    this.#time = time;
    this.#memberFinder = memberFinder;
    this.#consumers = consumers;
    this.#reads = reads;
  }

  isDenied(scope: TenantScope, consumerKey: string | undefined): Ready<boolean> {
    return consumerKey !== undefined && this.#consumers.isDenied(scope, consumerKey);
  }

  /** Whether the sender of a message that was accepted may not reach the agent any more. */
  async isRefused(
    scope: TenantScope,
    parsed: TriggerConfig | undefined,
    consumerKey: string | undefined,
  ): Promise<boolean> {
    return (await this.#refusalOf(scope, parsed, consumerKey)) !== undefined;
  }

  /** Also false for a session that does not exist yet. */
  async isTakenOver(scope: TenantScope, sessionId: string): Promise<boolean> {
    const asked = this.#questions.get(scope.tenantId);
    const question = asked === undefined || asked.sessionIds.size >= sessionsMax ? this.#ask(scope) : asked;
    question.sessionIds.add(sessionId);
    return (await question.answer).has(sessionId);
  }

  async closedFor(
    scope: TenantScope,
    parsed: TriggerConfig,
    consumerKey: string | undefined,
    sessionId: string,
  ): Promise<SenderBlock | undefined> {
    const refusal = await this.#refusalOf(scope, parsed, consumerKey);
    if (refusal !== undefined) return refusal;
    return (await this.isTakenOver(scope, sessionId)) ? 'session' : undefined;
  }

  async #refusalOf(
    scope: TenantScope,
    parsed: TriggerConfig | undefined,
    consumerKey: string | undefined,
  ): Promise<Exclude<SenderBlock, 'session'> | undefined> {
    if (await this.isDenied(scope, consumerKey)) return 'denylist';
    const access = requestsOf(parsed)?.sender_access;
    if (access === undefined || access.mode === 'any') return undefined;
    const { allowed } = await checkSender(access, consumerKey, this.#memberFinder(scope));
    return allowed ? undefined : 'sender_access';
  }

  #ask(scope: TenantScope): Question {
    const sessionIds = new Set<string>();
    const question: Question = {
      scope,
      sessionIds,
      answer: new Promise((resolve, reject) => {
        this.#time.soon(() => {
          if (this.#questions.get(scope.tenantId) === question) this.#questions.delete(scope.tenantId);
          this.#read(scope, sessionIds).then(resolve, reject);
        });
      }),
    };
    this.#questions.set(scope.tenantId, question);
    return question;
  }

  async #read(scope: TenantScope, sessionIds: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    const rows = await this.#reads.inTenant(scope, takenOver, [scope.tenantId, [...sessionIds]]);
    return new Set(rows.map(({ id }) => id));
  }
}
