/** Names that the platform itself fills in; a sender's value for one is dropped. */
const reserved: ReadonlySet<string> = new Set([
  'tenant_id',
  'agent_id',
  'user_id',
  'source',
  'trigger_id',
  'execution_id',
  'api_key_id',
  'session_id',
  'agent_execution_id',
  'root_execution_id',
  'trigger_execution_id',
  'approval_gate',
  'auth_source',
  'consumer_key',
  '_webhookContext',
  '_agent_depth',
  'parent_agent_id',
  'parent_session_id',
  'parent_execution_id',
  'consumer_display_name',
  'consumer_channel',
  '_client_blocks',
  'process',
  '_process_agent_step',
  'process_instance_id',
  'process_activity_id',
  'builder_session_id',
  'builder_target_agent_id',
  'branch',
  'databaseConfig',
  'tier',
]);

/** Never accepted from a sender: they would reach the prototype of any object that they are assigned to. */
const prototypeNames: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

const neverInPrompt: ReadonlySet<string> = new Set(['token', 'host', 'userName']);

/** All names that no sender may use. */
export const reservedNames: readonly string[] = [...reserved, ...prototypeNames];

export function isReservedName(name: string): boolean {
  return reserved.has(name) || isPrototypeName(name);
}

export function isPrototypeName(name: string): boolean {
  return prototypeNames.has(name);
}

/** Whether a name of the context is for tools only. */
export function hiddenFromModel(name: string): boolean {
  return name.startsWith('_') || neverInPrompt.has(name);
}
