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
5. \`approval\` {approval_id, tool, arguments}: the turn waits until a person decides. The stream stays open for five minutes and then closes without \`done\`; continue it later. \`chat_with_agent\` answers \`approval_pending\` at once.
6. \`thinking\` {content} and \`delta\` {content}: pieces as they are generated.
7. \`response\` {content, blocks, parsed}: the whole text, once; \`parsed\` is its value if it had to fit a schema.
8. \`metrics\` {usage, cost, model, provider, latency_ms, first_token_ms, tool_calls}.
9. \`error\` {code, message, details}. With \`EXECUTION_TIMEOUT\` or \`STREAM_TIMEOUT\` and \`timed_out: true\` the connection failed, not the turn.
10. \`done\` {outcome, session_id, execution_id, timed_out, timeout_clock}: always last. Outcomes: COMPLETED, TIMEOUT, CANCELLED, FAILED, BLOCKED, SUSPENDED; clocks: turn, first_signal, idle, call.

To resume, \`GET /api/v1/executions/:id/stream\` with \`Last-Event-ID\`: any node answers, each event comes once. Closing a stream does not cancel its turn, unless \`cancel_on_disconnect=true\`.

Over MCP, \`chat_with_agent\` sends progress notifications with the growing text to clients that pass a progress token. Closing the request cancels the turn, unless \`_meta.idempotency_key\` is set; a repeat with the same key joins the turn.
`;

export const webhooksText = `# Webhooks

\`POST /api/triggers/webhook/:id\` starts a turn.

- **Who may send** (\`auth.type\`): \`signature\` (default), \`api_key\` (\`X-Api-Key\`) or \`none\`. A channel with a secret takes its vendor's own signature instead.
- **Signature**: \`X-Webhook-Signature: sha256=<hex>\` or \`sha512=<hex>\`, an HMAC with the webhook's secret over the raw body; with \`X-Webhook-Timestamp\` (Unix seconds, at most five minutes old) over \`<timestamp>.<body>\`. After \`rotate_trigger_secret\` both secrets verify during the grace time.
- **Modes**: \`sync\` answers with the agent's text; \`async\` acknowledges with 202 and sends the answer to \`callback.url\` or through the channel.
- **Repeats**: a message with the same \`Idempotency-Key\` or \`X-Webhook-Id\` within 24 hours runs once and gets the first answer; the message id of a channel counts for 8 days.
- **Buffer** (\`execution.message_buffer\`): messages of one session become one turn when the window passes without another, or when \`max_messages\` is reached. It needs async mode, derived sessions, and a callback or channel.
- **Callbacks** have an \`Idempotency-Key\` and the headers of Standard Webhooks (\`webhook-id\`, \`webhook-timestamp\`, \`webhook-signature\`), signed with the trigger's secret. Up to 5 attempts on network failures, 429 and 5xx, after about 1, 5, 30 and 120 s. Then the delivery is a dead letter: \`list_dead_letters\`, \`replay_dead_letter\`.
- **Chunks** (\`execution.split_config\`) are sent one after the other; if one fails, the rest is not sent. Channels never get longer texts than their vendor takes; with \`enabled: false\` a longer one is cut and ends in \`…\`.
- **Failures**: with \`callback.send_failures\` a turn that ends otherwise than COMPLETED is sent as \`{agent_response: null, error: {code, message}, session_id, execution_id, trigger_id}\`.
- **Blocks**: a sender on the denylist, a session that people took over, and a sender without access get an empty \`<Response></Response>\`; no model is asked.

Schemas of the configuration: platform://schemas/trigger-webhook and its siblings. Formats and chunk sizes: platform://catalog/channels.
`;

export function contextText(reserved: readonly string[]): string {
  return `# Context and bindings

Fields of a message to an agent, beside \`message\`:

| field | who may send it | what it does |
|---|---|---|
| session_id | everybody | continues a conversation |
| consumer_key | key of an owner or admin | names the person: memory, denylist, takeover |
| context | key of an owner or admin | flat data that the agent reads |
| bindings | key of an owner or admin | flat arguments for tools; the model never sees them |
| session_from | key of an owner or admin | names of 1 to 5 fields that give the session; not with session_id |
| metadata | everybody | flat data for finding the execution; \`trace_id\` is searchable |
| attachments | everybody | images and files; with one, \`message\` may be left out |
| options.timeout_ms | everybody | shortens the limit of the turn |
| options.response_format | key of an owner or admin | the JSON Schema that the answer must fit |

Values are text, numbers or booleans; null is dropped. Names that begin with \`_\`, and \`token\`, \`host\` and \`userName\`, are for tools only: the model does not see them.

These names are dropped and reported with \`reserved_key\`: ${reserved.map((name) => `\`${name}\``).join(', ')}.

The answer lists \`accepted_fields\` and \`ignored_fields\` with reasons: \`requires_admin_api_key\`, \`reserved_key\`, \`unknown_field\`, \`not_supported\`. The turn runs even if a field is ignored, so check them.

A tool takes values by \`defaults_from_context\` and \`\${context.name}\`; bindings win over context, and both win over the model. If a value is missing the tool answers \`CONTEXT_PARAM_MISSING\`.
`;
}
