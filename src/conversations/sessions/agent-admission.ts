/** Checks whether an agent accepts a turn now: its state, its allowed users, its rate limit and its model. */
import type { Reference, Time } from '../../../cluster/index.js';
import { type AgentsSubject, requireAllowedUser, type RunnableAgent } from '../../agents/index.js';
import { callSources, type ModelCalls } from '../../models/calls/index.js';
import type { TenantCaller } from '../../kernel/caller.js';
import { PlatformError, tooManyRequests } from '../../kernel/errors.js';
import { LeaveController, type UserPart } from '../../llm/index.js';
import type { AgentWindowService } from './agent-window.actor.js';

export interface AgentAdmissionParts {
  readonly agents: Pick<AgentsSubject, 'runnableAgent'>;
  readonly models: Pick<ModelCalls, 'preflight'>;
  readonly window: (tenantId: string, agentId: string) => Reference<AgentWindowService>;
  readonly refusalOf: (error: unknown) => PlatformError | undefined;
  readonly time: Time;
}

type TenantWork = Pick<TenantCaller, 'scope' | 'limits'> & { readonly keyId?: string | null | undefined };

const windowCallMs = 5_000;

/** The check sends no request, so it needs no way to be aborted. */
const neverLeft = new LeaveController();

export class AgentAdmission {
  readonly #parts: AgentAdmissionParts;

  constructor(parts: AgentAdmissionParts) {
    this.#parts = parts;
  }

  /** Refuses before the turn begins, so that the refusal is an HTTP error and not an event. */
  async admit(
    caller: TenantCaller,
    agentId: string,
    parts: readonly UserPart[] = [],
  ): Promise<RunnableAgent> {
    const agent = await this.agentFor(caller, agentId);
    if (!agent.snapshot.chat_enabled) {
      throw new PlatformError('chat_disabled', {
        message: 'Chat is switched off for this agent (chat_enabled is false). Its triggers go on.',
      });
    }
    await this.#preflightModel(
      { ...caller, keyId: caller.kind === 'key' ? caller.keyId : null },
      agent,
      parts,
    );
    await this.#countTurn(caller, agent);
    return agent;
  }

  /**
   * The same for a turn of a trigger, which has no caller: only published agents, without a check of the allowed
   * users. `ManualRuns` checks the user who runs a trigger by hand.
   */
  async admitUnasked(tenant: TenantWork, agentId: string): Promise<RunnableAgent> {
    const agent = await this.#parts.agents.runnableAgent(tenant.scope, agentId, 'member');
    if (agent === undefined) throw new PlatformError('agent_not_found');
    await this.#preflightModel(tenant, agent);
    await this.#countTurn(tenant, agent);
    return agent;
  }

  /**
   * Finds a turn that would be refused only because tokens or money are used up or its key may not use the model. The turn itself reports any
   * other fault.
   */
  async tokenRefusal(tenant: TenantWork, agentId: string): Promise<PlatformError | undefined> {
    const refusal = await this.#refusalOf(tenant, agentId, []);
    return refusal?.code === 'quota_exceeded' || refusal?.code === 'invalid_model_for_key'
      ? refusal
      : undefined;
  }

  /** The same for a turn whose images and files the agent's model does not take. */
  async contentRefusal(
    tenant: TenantWork,
    agentId: string,
    parts: readonly UserPart[],
  ): Promise<PlatformError | undefined> {
    const refusal = await this.#refusalOf(tenant, agentId, parts);
    return refusal?.code === 'unsupported_content' ? refusal : undefined;
  }

  async #refusalOf(
    tenant: TenantWork,
    agentId: string,
    parts: readonly UserPart[],
  ): Promise<PlatformError | undefined> {
    const agent = await this.#parts.agents.runnableAgent(tenant.scope, agentId, 'member');
    if (agent === undefined) return undefined;
    try {
      await this.#preflightModel(tenant, agent, parts);
      return undefined;
    } catch (error) {
      if (error instanceof PlatformError) return error;
      throw error;
    }
  }

  /** The agent, if this caller may chat with it. */
  async agentFor(caller: TenantCaller, agentId: string): Promise<RunnableAgent> {
    const agent = await this.#parts.agents.runnableAgent(caller.scope, agentId, caller.role);
    if (agent === undefined) throw new PlatformError('agent_not_found');
    requireAllowedUser(agent, caller.kind === 'key' ? undefined : caller.userId);
    return agent;
  }

  async #preflightModel(
    { scope, limits, keyId = null }: TenantWork,
    { id, snapshot }: RunnableAgent,
    parts: readonly UserPart[] = [],
  ): Promise<void> {
    const { model, fallback_models: fallbackModels } = snapshot.llm_config;
    await this.#parts.models.preflight({
      scope,
      limits,
      source: callSources.toolLoop,
      keyId,
      userId: null,
      agentId: id,
      agentBudget: snapshot.metadata.budget ?? undefined,
      model,
      fallbackModels,
      request: { messages: parts.length === 0 ? [] : [{ role: 'user', content: parts }], stream: true },
      signal: neverLeft,
    });
  }

  async #countTurn({ scope }: TenantWork, { id, rateLimit }: RunnableAgent): Promise<void> {
    if (rateLimit === null) return;
    const answer = await this.#parts
      .window(scope.tenantId, id)
      .admitTurn({ limit: rateLimit }, { deadlineMs: windowCallMs })
      .catch((error: unknown) => {
        throw this.#parts.refusalOf(error) ?? error;
      });
    if (answer.admitted) return;
    const nowMs = this.#parts.time.wallMs();
    const message = 'The agent has reached its limit of turns per minute.';
    throw tooManyRequests(rateLimit, { atMs: nowMs + answer.resetInMs, nowMs, message });
  }
}
