/** What parameters of these names mean wherever they are, unless their schema says it itself. */
export const queryDescriptions: Readonly<Record<string, string>> = {
  token: 'The token of the link in the mail.',
  revoke_keys: 'Whether the keys that the member made are revoked too.',
  force: 'Whether what uses it loses it.',
  status: 'Only rows of this status.',
  type: 'Only rows of this type.',
  includeArchived: 'Whether archived agents are listed too.',
  createdBy: 'Only agents that this user made.',
  cursor: 'Continues a list behind the page that gave this `next_cursor`.',
  limit: 'The most rows of a page.',
  from: 'The version to compare from, or `draft`.',
  to: 'The version to compare with, or `draft`.',
  includeDeleted: 'Whether deleted rows are listed too.',
  activeOnly: 'Whether only active rows are listed.',
  after_id: 'Rows behind this one.',
  before_id: 'Rows before this one.',
  stream: 'Must be `false`: a stored response is read whole.',
  search: 'Words to look for.',
  blocked: 'Whether only those on the denylist are listed, or only the others.',
  control_mode: 'Only sessions that the agent answers, or only those that a person took over.',
  consumer_key: 'Only those of this consumer.',
  agent_id: 'Only those of this agent.',
  channel: 'Only those of this channel.',
  ended: 'Whether only ended sessions are listed, or only the others.',
  start_date: 'From this day or moment on, in ISO 8601; UTC without an offset.',
  end_date: 'Up to this day, or before this moment, in ISO 8601; UTC without an offset.',
  trace_id: 'Only executions with this value in `metadata.trace_id`.',
  session_id: 'Only those of this session.',
  execution_id: 'Only those of this execution.',
  request_id: 'Only those of this request.',
  code: 'Only those with this code.',
  trigger_id: 'Only those of this trigger.',
  trigger_type: 'Only triggers of this type.',
  enabled: 'Whether only enabled triggers are listed, or only the others.',
  awaiting_approval: 'Whether only sessions that wait for a decision are listed, or only the others.',
  order: 'Oldest first, or newest first.',
  actor: 'Only what this user or key did.',
  target: 'Only what happened to the thing with this id.',
  action: 'Only this action, such as `agents.publish`.',
  format: 'The form of the file.',
  'hub.mode': 'Must be `subscribe`.',
  'hub.verify_token': "The webhook's secret.",
  'hub.challenge': 'What is answered.',
  group_by: 'What the figures are grouped by.',
  by_day: 'Whether the costliest groups are told day by day too.',
  provider: 'Only calls of this vendor.',
  model: 'Only calls of this model.',
  page: 'The page, from 1.',
  order_by: 'The field that decides the order.',
  order_dir: 'Up or down.',
  hours: 'For how many of the last hours.',
  plan: 'Only tenants with this plan.',
};

export const headerDescriptions: Readonly<Record<string, string>> = {
  'last-event-id': 'The id of the last event that the client has. The stream goes on behind it.',
  'cache-control': '`no-cache` or `no-store`: the call is made even if an answer is cached.',
  'anthropic-version': 'Sent by clients of Anthropic; the answer is then in that form.',
  'anthropic-beta': 'Passed on to the vendor of a call that is passed on as it is.',
  'mcp-protocol-version': 'The revision of the protocol.',
  'mcp-session-id': 'What the answer to `initialize` gave. The server keeps no state for it.',
  'mcp-method': 'The method of the body, in the newest revision of the protocol.',
  'mcp-name': 'The name of the tool, resource or prompt of the body, in the newest revision.',
  'x-mcp-role': 'Lowers the rights of the credential to this role.',
  'x-mcp-toolsets': 'Only tools of these groups, separated by commas.',
  'x-mcp-tools': 'Only these tools, separated by commas.',
  'x-mcp-readonly': '`true`: only tools that change nothing.',
  'x-webhook-signature': 'The signature of the body, with `auth.type` `signature`.',
  'x-webhook-timestamp': 'When the body was signed, in Unix seconds.',
  'x-webhook-id': 'The id of the message, by which a repeat is known.',
  'x-api-key': 'With `auth.type` `api_key`.',
  'x-twilio-signature': "Twilio's signature of a message of its channel.",
  'x-hub-signature-256': "WhatsApp's signature of a message of its channel.",
  'x-slack-signature': "Slack's signature of a message of its channel.",
  'x-slack-request-timestamp': 'When Slack signed, in Unix seconds.',
  'x-slack-retry-num': 'Which repeat of Slack this is.',
  'sec-fetch-site': 'Sent by browsers: requests of other sites are refused.',
};

/** What a parameter of a path names: `/api/agents/:id` is the id of the agent. */
export function pathDescription(path: string, name: string): string {
  const place = path.slice(0, path.indexOf(`/:${name}`));
  const plural = place.slice(place.lastIndexOf('/') + 1);
  const thing = things[plural] ?? plural.replace(/s$/, '');
  if (name === 'version') return 'The number of the version.';
  if (name === 'publicKey') return 'The public key of the page, `pk_live_…`.';
  if (name === 'kind') return 'What the file has.';
  return `The ${name === 'key' ? 'key' : name === 'model' ? 'name' : 'id'} of the ${thing}.`;
}

const things: Readonly<Record<string, string>> = {
  'database-configs': 'database configuration',
  'mail-domains': 'mail domain',
  deliveries: 'delivery',
  schemas: 'tool',
  webhook: 'trigger',
  keys: 'API key',
};
