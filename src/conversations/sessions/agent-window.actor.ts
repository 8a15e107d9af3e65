/**
 * Counts the turns of one agent within a minute, in one place for all nodes. A restart forgets at most one minute.
 */
import { type ActorKindOf, type Time, volatileActor } from '../../../cluster/index.js';
import {
  type AdmitTurnRequest,
  type AdmitTurnResponse,
  AgentWindowServiceDefinition,
} from '../../../generated/troupe/actors/v1/agent_window.js';
import { SlidingWindow } from '../../tenancy/quota/index.js';

export type AgentWindowService = typeof AgentWindowServiceDefinition;

export function agentWindowActor(time: Time): ActorKindOf<AgentWindowService> {
  return volatileActor({
    service: AgentWindowServiceDefinition,
    create: () => {
      const window = new SlidingWindow();
      return {
        admitTurn({ limit }: AdmitTurnRequest): AdmitTurnResponse {
          const nowMs = time.monotonicMs();
          const admitted = window.used(nowMs) < limit;
          if (admitted) window.add(nowMs);
          return { admitted, resetInMs: Math.max(0, window.roomAtMs(nowMs, limit) - nowMs) };
        },
      };
    },
  });
}
