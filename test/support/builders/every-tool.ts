// A walk through all tools of MCP, in an order in which each finds what it needs.
import { randomUUID } from 'node:crypto';
import { z } from 'zod';

export type CallTool = (name: string, args: Readonly<Record<string, unknown>>) => Promise<unknown>;

export interface Surroundings {
  /** Answers JSON to every request. */
  readonly toolServerUrl: string;
  readonly mcpServerUrl: string;
  readonly database: {
    readonly host: string;
    readonly port: number;
    readonly name: string;
    readonly user: string;
    readonly password: string;
  };
  /** A member whose role may change, and who is removed. */
  readonly memberId: string;
  /** A key that may be revoked. */
  readonly keyId: string;
  /** A session with a person behind it, and a delivery that failed for good. */
  readonly handedOff: {
    readonly sessionId: string;
    readonly consumerKey: string;
    readonly deadLetterId: string;
  };
}

const withId = z.object({ data: z.object({ id: z.string() }) });

function idOf(answer: unknown): string {
  return withId.parse(answer).data.id;
}

/** Calls every tool once or more. Rejects with the first refusal. */
export async function callEveryTool(call: CallTool, around: Surroundings): Promise<void> {
  const agent = await agentTools(call, around);
  await triggerTools(call, agent);
  await databaseTools(call, around);
  await conversationTools(call, agent, around);
  await tenancyTools(call, around);
  await call('unpublish_agent', { agent_id: agent });
  await call('archive_agent', { agent_id: agent });
}

async function agentTools(call: CallTool, { toolServerUrl, mcpServerUrl }: Surroundings): Promise<string> {
  const name = (): string => `agent-${randomUUID().slice(0, 8)}`;
  const agent = idOf(await call('create_agent', { name: name(), llm_config: { model: 'sim.echo' } }));
  const at = { agent_id: agent };
  await call('list_agents', {});
  await call('get_agent', at);
  await call('update_agent', { ...at, bio: 'Repeats what it hears.' });
  await call('duplicate_agent', { ...at, name: name() });
  const child = idOf(await call('create_agent', { name: name(), llm_config: { model: 'sim.echo' } }));
  await call('publish_agent', { agent_id: child });

  const api = { api: { url: toolServerUrl, auth: { type: 'none' } } };
  const tool = idOf(await call('create_api_tool', { ...at, name: 'weather', editor_schema: api }));
  await call('create_api_tool', {
    ...at,
    openapi: {
      document: {
        openapi: '3.1.0',
        servers: [{ url: toolServerUrl }],
        paths: {
          '/orders/{id}': { get: { operationId: 'readOrder', parameters: [{ name: 'id', in: 'path' }] } },
        },
      },
      operation_id: 'readOrder',
    },
  });
  await call('list_api_tools', at);
  await call('get_api_tool', { ...at, tool_id: tool });
  await call('update_api_tool', { ...at, tool_id: tool, description: 'Tells the weather.' });
  await call('test_api_tool', { ...at, tool_id: tool, arguments: {} });
  const mcp = { mcp: { url: mcpServerUrl } };
  const server = idOf(await call('create_mcp_server', { ...at, name: 'files', editor_schema: mcp }));
  await call('list_mcp_servers', at);
  await call('get_mcp_server', { ...at, server_id: server });
  await call('update_mcp_server', { ...at, server_id: server, description: 'Reads files.' });
  await call('discover_mcp_server_tools', { ...at, server_id: server });
  const schema = idOf(
    await call('create_agent_schema', {
      ...at,
      type: 'agent',
      name: 'helper',
      editor_schema: { agent: { agent_id: child } },
    }),
  );
  await call('list_agent_schemas', at);
  await call('get_agent_schema', { ...at, schema_id: schema });
  await call('update_agent_schema', { ...at, schema_id: schema, description: 'Helps.' });
  await call('delete_agent_schema', { ...at, schema_id: schema });
  await call('delete_api_tool', { ...at, tool_id: tool });
  await call('delete_mcp_server', { ...at, server_id: server });

  await call('validate_agent', at);
  await call('publish_agent', at);
  await call('create_agent_version', { ...at, name: 'before the change' });
  await call('list_agent_versions', at);
  await call('get_agent_version', { ...at, version: '1' });
  await call('compare_agent_versions', { ...at, from: '1' });
  await call('rollback_agent_version', { ...at, version: '1' });
  return agent;
}

async function triggerTools(call: CallTool, agent: string): Promise<void> {
  const trigger = idOf(
    await call('create_trigger', { agent_id: agent, name: 'orders', trigger_type: 'webhook' }),
  );
  const at = { trigger_id: trigger };
  await call('list_triggers', {});
  await call('get_trigger', at);
  await call('update_trigger', { ...at, name: 'orders of the shop' });
  await call('disable_trigger', at);
  await call('enable_trigger', at);
  await call('test_trigger', { ...at, payload: { message: 'hello' } });
  await call('invoke_trigger', { ...at, message: 'hello', payload: { order: 7 } });
  await call('get_trigger_stats', {});
  const executions = z
    .object({ data: z.array(z.object({ id: z.string() })).min(1) })
    .parse(await call('list_trigger_executions', at));
  await call('get_trigger_execution', { ...at, execution_id: executions.data[0]?.id });
  await call('rotate_trigger_secret', at);
  await call('delete_trigger', at);
}

async function databaseTools(call: CallTool, { database }: Surroundings): Promise<void> {
  const place = {
    host: database.host,
    port: database.port,
    database: database.name,
    username: database.user,
  };
  const name = `shop-${randomUUID().slice(0, 8)}`;
  const secret = idOf(await call('create_secret', { name, value: database.password, kind: 'generic' }));
  const access = { ...place, ssl: false, password_secret_ref: name };
  const config = idOf(await call('create_database_config', { name, connection_config: access }));
  const at = { config_id: config };
  await call('list_database_configs', {});
  await call('get_database_config', at);
  await call('update_database_config', { ...at, description: 'The shop.' });
  await call('refresh_database_schema', at);
  await call('test_database_connection', { ...access, allowed_tables: ['public.tenants'] });
  await call('discover_database_schema', access);
  await call('delete_database_config', at);
  await call('delete_secret', { secret_id: secret });
}

const chatted = z.object({ session_id: z.string(), execution_id: z.string(), text: z.string() });

async function conversationTools(call: CallTool, agent: string, { handedOff }: Surroundings): Promise<void> {
  const { session_id: session, execution_id: execution } = chatted.parse(
    await call('chat_with_agent', { agent_id: agent, message: 'hello' }),
  );
  const at = { session_id: session };
  await call('list_sessions', {});
  await call('get_session', at);
  await call('suspend_session', at);
  await call('resume_session', at);
  await call('cancel_turn', at);
  await call('list_executions', {});
  await call('get_execution', { execution_id: execution });

  const consumer = { consumer_key: handedOff.consumerKey };
  await call('handoff_session', { session_id: handedOff.sessionId });
  await call('send_manual_message', { session_id: handedOff.sessionId, message: 'I am a person.' });
  await call('list_dead_letters', {});
  await call('replay_dead_letter', { delivery_id: handedOff.deadLetterId });
  await call('list_consumers', {});
  await call('get_consumer', { ...consumer, include_memory: true });
  await call('list_consumer_sessions', consumer);
  await call('deny_consumer', consumer);
  await call('list_denied_consumers', {});
  await call('allow_consumer', consumer);
  await call('delete_consumer_memory', consumer);
  await call('delete_consumer_memory', { ...consumer, whole_contact: true });
  await call('delete_session', at);

  await call('call_llm', { query: 'hello', model: 'sim.echo' });
  await call('list_models', {});
  await call('get_quota', {});
  const range = { start_date: '2020-01-01', end_date: '2099-01-01' };
  await call('get_telemetry_dashboard', {});
  const reports = ['metrics', 'usage-by-hour', 'sessions', 'cache', 'loopgraph', 'graph', 'call-sources'];
  for (const report of reports) {
    const hasRange = !['usage-by-hour', 'call-sources'].includes(report);
    await call('get_telemetry_report', { report, ...(hasRange ? range : {}) });
  }
  await call('list_telemetry_logs', range);
}

async function tenancyTools(call: CallTool, { memberId, keyId }: Surroundings): Promise<void> {
  const secret = idOf(
    await call('create_secret', {
      name: `key-${randomUUID().slice(0, 8)}`,
      value: 'sk-planted-0123456789abcdef',
      kind: 'llm_key',
      provider: 'openai',
    }),
  );
  const at = { secret_id: secret };
  await call('list_secrets', {});
  await call('get_secret', at);
  await call('test_provider_key', at);
  await call('update_secret', { ...at, value: 'sk-planted-fedcba9876543210' });
  await call('delete_secret', at);
  await call('list_api_keys', {});
  await call('get_api_key', { key_id: keyId });
  await call('update_api_key_rpm', { key_id: keyId, rateLimitPerMinute: 5 });
  await call('revoke_api_key', { key_id: keyId });
  await call('list_members', {});
  await call('update_member_role', { user_id: memberId, role: 'editor' });
  await call('remove_member', { user_id: memberId });
  const invite = idOf(await call('create_invite', { email: `${randomUUID()}@example.com`, role: 'member' }));
  await call('list_invites', {});
  await call('cancel_invite', { invite_id: invite });
  await call('get_billing_plan', {});
  await call('get_billing_usage', { group_by: 'model' });
}
