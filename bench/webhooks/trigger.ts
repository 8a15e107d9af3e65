/** The definition of a trigger that answers to a callback; with `buffered` it holds messages for a minute. */
export function asyncTrigger(agentId: string, callbackUrl: string, buffered: boolean) {
  return {
    agent_id: agentId,
    name: 'bench',
    trigger_type: 'webhook',
    trigger_config: {
      session_strategy: { mode: 'derive', fields: ['user'] },
      execution: {
        mode: 'async',
        callback: { url: callbackUrl },
        message_buffer: { enabled: buffered, window_ms: 60_000, max_messages: 100 },
      },
    },
  };
}
