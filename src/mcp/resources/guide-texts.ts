/** Guides in plain text for models: what the names mean and in which order things are done. */

export function overviewText(publicUrl: string): string {
  return `# Overview

Troupe hosts agents for many tenants, and the conversations that people have with them.

- **Agent**: an assistant with a prompt, a model, tools and memory. It is a draft until it is published; publishing stores a version.
- **Schema**: something an agent can call: an HTTP tool (\`api\`), an external MCP server (\`mcp\`) or another agent (\`agent\`).
- **Session**: one conversation with an agent. **Turn**: the work from a message to its answer. **Execution**: the durable record of a turn.
- **Consumer**: the person an integration names with \`consumer_key\`.
- **Trigger**: what starts turns from outside: webhook, mail, schedule, database event.
- **Delivery**: an answer on its way to a callback or a channel. One that failed for good is a dead letter.
- **Secret**: a credential in the vault; other objects hold its name.

## First steps

1. \`create_agent\`, then \`validate_agent\` and \`publish_agent\`.
2. \`chat_with_agent\` with a message; pass \`session_id\` to go on.
3. \`create_trigger\` to let an application or a channel start the agent; \`test_trigger\` shows what a payload leads to.
4. \`get_telemetry_dashboard\`, \`list_executions\` and \`get_execution\` show what happened.

The HTTP API is described at ${publicUrl}/openapi.json.
`;
}

export const authenticationText = `# Authentication

- **API key**: header \`X-Api-Key: <key>\`, or \`Authorization: Bearer <key>\`. Keys begin with \`svc_live_\`, \`svc_test_\` or \`svc_dev_\`.
- **Access token**: \`Authorization: Bearer <token>\` with \`x-tenant-id: <tenant>\`.
- A key belongs to one tenant and has a role: owner, admin, editor or member. See platform://docs/permissions.

Over HTTP: \`POST /mcp\`. Requests are independent, so any node answers any request; \`Mcp-Session-Id\` is accepted and not needed.

Over stdio: \`troupe mcp\` with \`TROUPE_API_KEY\`, \`TROUPE_BASE_URL\` and \`TROUPE_ROLE\`. The role lowers the rights of the key and never raises them.

Headers that shorten the list of tools: \`X-MCP-Toolsets\`, \`X-MCP-Tools\` (names, with commas), \`X-MCP-Readonly: true\`, \`X-MCP-Role\`.
`;

export const streamingText = `# Streaming

\`POST /api/v2/agents/:id/stream\` answers with server-sent events. Each has \`id\`, \`event\` and \`data\`.

1. \`metadata\` {accepted_fields, ignored_fields, session_id, execution_id}: always first.
2. \`status\` {state: queued | running | restarted}. After \`restarted\` drop the text so far.
3. \`phase\` {name: load | intent | model | tools | finish}.
4. \`tool\` {call_id, name, state: started | finished | failed | timeout, latency_ms}.
5. \`thinking\` {content} and \`delta\` {content}: pieces as they are generated.
6. \`response\` {content, blocks}: the whole text, once.
7. \`metrics\` {usage, cost, model, provider, latency_ms, first_token_ms, tool_calls}.
8. \`error\` {code, message, details}.
9. \`done\` {outcome, session_id, execution_id, timed_out, timeout_clock}: always last.

To resume, \`GET /api/v1/executions/:id/stream\` with \`Last-Event-ID\`: any node answers, each event comes once. Closing a stream does not cancel its turn, unless \`cancel_on_disconnect=true\`.

Over MCP, \`chat_with_agent\` sends progress notifications with the growing text to clients that pass a progress token. Closing the request cancels the turn, unless \`_meta.idempotency_key\` is set; a repeat with the same key joins the turn.
`;

export const webhooksText = `# Webhooks

\`POST /api/triggers/webhook/:id\` starts a turn.

- **Signature** (default): \`X-Webhook-Signature: sha256=<hex>\` over the raw body, or over \`<timestamp>.<body>\` with \`X-Webhook-Timestamp\`; or Standard Webhooks headers. \`auth.type\` may also be \`api_key\` or \`none\`.
- **Modes**: \`sync\` answers with the agent's text; \`async\` acknowledges at once and sends the answer to \`callback.url\`.
- **Repeats**: the same message key within its time runs once and gets the first answer.
- **Buffer**: messages of one session within a window become one turn.
- **Callbacks** are signed, one request for each chunk, in order, with retries that wait longer each time. After the last attempt a delivery is a dead letter: \`list_dead_letters\`, \`replay_dead_letter\`.

Schemas of the configuration: platform://schemas/trigger-webhook and its siblings. Formats and chunk sizes: platform://catalog/channels.
`;

export const contextText = `# Context and bindings

Fields of a message to an agent, beside \`message\`:

| field | who may send it | what it does |
|---|---|---|
| session_id | everybody | continues a conversation |
| consumer_key | key of an owner or admin | names the person: memory, denylist, takeover |
| context | key of an owner or admin | flat data that the agent reads |
| bindings | key of an owner or admin | flat arguments for tools; the model never sees them |
| session_from | key of an owner or admin | names of 1 to 5 fields that give the session; not with session_id |
| metadata | everybody | flat data for finding the execution; \`trace_id\` is searchable |
| options.timeout_ms | everybody | shortens the limit of the turn |

Values are text, numbers or booleans. Names such as \`tenant_id\`, \`session_id\` or \`source\` are reserved.

The answer lists \`accepted_fields\` and \`ignored_fields\` with reasons: \`requires_admin_api_key\`, \`reserved_key\`, \`unknown_field\`, \`not_supported\`. The turn runs even if a field is ignored, so check them.

A tool takes values by \`defaults_from_context\` and \`\${context.name}\`; bindings win over context, and both win over the model. If a value is missing the tool answers \`CONTEXT_PARAM_MISSING\`.
`;
