/** A trigger whose answers go out to a callback, as it is made: one that gathers keeps its messages for a minute. */
export function asyncTrigger(agentId: string, callbackUrl: string, gathers: boolean) {
  return {
    agent_id: agentId,
    name: 'bench',
    trigger_type: 'webhook',
    trigger_config: {
      session_strategy: { mode: 'derive', fields: ['user'] },
      execution: {
        mode: 'async',
        callback: { url: callbackUrl },
        message_buffer: { enabled: gathers, window_ms: 60_000, max_messages: 100 },
      },
    },
  };
}
