import { activeTraceparent } from '../../infra/diagnostics/index.js';
import type { Ids } from '../../kernel/chance.js';
import { type AgentsSubject, requireAllowedUser } from '../../agents/index.js';
import type { TenantCaller } from '../../kernel/caller.js';
import { PlatformError } from '../../kernel/errors.js';
import { authorFrom, continuesOwnSessionsOnly } from '../../conversations/invocation/index.js';
import type { Expressions } from '../../infra/expressions/index.js';
import type { JsonObject } from '../../http/operations/index.js';
import type { InboxRunner } from '../inbox/inbox-runner.js';
import { readinessChecks } from '../intake/pipeline/request-checks.js';
import { errorOf, Stop, stopAtFault, unreadable } from '../intake/pipeline/stop.js';
import { sourcesOf } from '../intake/read-message.js';
import { sessionOf } from '../intake/sender-identity.js';
import { responseSettings } from '../outbox/delivery-content.js';
import type { Rendered } from '../outbox/replies/formats.js';
import type { PlainTexts } from '../outbox/replies/plain-texts.js';
import { syncAnswer } from '../outbox/replies/sync-answer.js';
import { requestsOf, type TriggerConfig } from '../triggers/types/registry.js';
import type { LiveTriggers } from '../triggers/live-triggers.js';
import { givenContext, givenMessage } from './given-payload.js';
import type { Triggers } from './triggers.js';

export interface ManualRunParts {
  readonly ids: Ids;
  readonly triggers: Pick<Triggers, 'get'>;
  readonly live: Pick<LiveTriggers, 'get'>;
  readonly agents: Pick<AgentsSubject, 'publishedAgent'>;
  readonly expressions: Pick<Expressions, 'evaluate'>;
  readonly plainTexts: PlainTexts;
  readonly runner: Pick<InboxRunner, 'run'>;
}

/** Runs triggers by hand. */
export class ManualRuns {
  readonly #parts: ManualRunParts;

  constructor(parts: ManualRunParts) {
    this.#parts = parts;
  }

  /** Runs the trigger now; the payload becomes the agent's context. */
  async invoke(
    caller: TenantCaller,
    id: string,
    payload: JsonObject,
    { requestId, seed }: { readonly requestId: string; readonly seed: string | undefined },
  ): Promise<Rendered> {
    const { triggers, live, agents, expressions, plainTexts, runner } = this.#parts;
    const { scope } = caller;
    // A trigger of another tenant is reported as not found.
    await triggers.get(scope, id);
    const trigger = await live.get(id);
    if (trigger === undefined) throw new PlatformError('not_found');
    const { stopped } = await readinessChecks(agents).take({ trigger });
    if (stopped !== undefined) throw errorOf(stopped.stop);
    const { parsed, agentId } = trigger;
    await this.#requireAllowed(caller, agentId);
    const executionId = seed ?? this.#parts.ids.uuid();
    const turn = await runner.run({
      scope,
      triggerId: id,
      executionId,
      sessionId: (await givenSession(agentId, parsed, payload)) ?? seed ?? this.#parts.ids.uuid(),
      work: {
        message: await givenMessage(expressions, scope, parsed, payload),
        context: givenContext(parsed, payload),
        requestId,
        traceparent: activeTraceparent(),
        ...(caller.kind === 'key' ? { keyId: caller.keyId } : { userId: caller.userId }),
      },
      row: undefined,
      invokedBy: { author: authorFrom(caller), ownSessionsOnly: continuesOwnSessionsOnly(caller) },
      attempts: 1,
      ageMs: 0,
    });
    const ids = { triggerId: id, agentId, executionId };
    return syncAnswer({ scope, plainTexts }, responseSettings(parsed), ids, turn);
  }

  /** A user asks the agent in person; a key is an integration, as the sender of a webhook is. */
  async #requireAllowed(caller: TenantCaller, agentId: string): Promise<void> {
    if (caller.kind === 'key') return;
    const agent = await this.#parts.agents.publishedAgent(caller.scope, agentId);
    if (agent === undefined) throw new PlatformError('agent_not_found');
    requireAllowedUser(agent, caller.userId);
  }
}

/** A payload without the fields that sessions are derived from starts a session of its own. */
async function givenSession(
  agentId: string,
  parsed: TriggerConfig,
  payload: JsonObject,
): Promise<string | undefined> {
  const config = requestsOf(parsed);
  if (config === undefined) return undefined;
  const session = await stopAtFault(unreadable, () =>
    sessionOf(agentId, config, sourcesOf(config, payload, undefined)),
  );
  return session instanceof Stop ? undefined : session;
}
