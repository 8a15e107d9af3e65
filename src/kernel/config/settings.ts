import ipaddr from 'ipaddr.js';
import {
  address,
  base64Bytes,
  exactAddress,
  flag,
  listOf,
  oneOf,
  origin,
  type Setting,
  type SettingWithDefault,
  setting,
  text,
  wholeNumber,
} from './setting.js';

const port = wholeNumber(0, 65_535);

function cidr(value: string): string {
  if (ipaddr.isValidCIDR(value)) return value;
  if (ipaddr.isValid(value)) return `${value}/${value.includes(':') ? 128 : 32}`;
  throw new Error(`holds ${value}, which is not an address range`);
}

function json(value: string): unknown {
  try {
    return JSON.parse(value) as unknown;
  } catch {
    throw new Error('is not valid JSON');
  }
}

const role = oneOf('edge', 'worker');

/**
 * Every setting of the product. `troupe config` lists them, the start checks them all at once; nothing else reads
 * the environment.
 */
export const settingTable = {
  httpHost: setting('TROUPE_HTTP_HOST', 'address that HTTP listens on', '0.0.0.0', text, {
    fallback: '127.0.0.1',
  }),
  httpPort: setting('TROUPE_HTTP_PORT', 'port of HTTP; 0 takes a free one', '8080', port, {
    fallback: '8080',
  }),
  grpcHost: setting('TROUPE_GRPC_HOST', 'address that the link between nodes listens on', '0.0.0.0', text, {
    fallback: '127.0.0.1',
  }),
  grpcPort: setting('TROUPE_GRPC_PORT', 'port of the link between nodes; 0 takes a free one', '9090', port, {
    fallback: '9090',
  }),
  advertiseAddr: setting(
    'TROUPE_ADVERTISE_ADDR',
    'host:port at which other nodes reach this one',
    '10.0.0.7:9090',
    text,
  ),
  grpcTlsCa: setting(
    'TROUPE_GRPC_TLS_CA',
    'file with the authority of the links between nodes; with the other two, links are encrypted',
    '/etc/troupe/ca.pem',
    text,
  ),
  grpcTlsCert: setting(
    'TROUPE_GRPC_TLS_CERT',
    'file with the certificate that this node shows other nodes',
    '/etc/troupe/node.pem',
    text,
  ),
  grpcTlsKey: setting(
    'TROUPE_GRPC_TLS_KEY',
    'file with the key of that certificate',
    '/etc/troupe/node.key',
    text,
  ),
  grpcInsecure: setting(
    'TROUPE_GRPC_INSECURE',
    'on: links between machines without TLS, where something else keeps their network to itself',
    'on',
    flag,
    { fallback: 'off' },
  ),
  nodeId: setting('TROUPE_NODE_ID', 'name of this process; random when left out', 'node-a', nodeName),
  nodeRoles: setting('TROUPE_NODE_ROLES', 'what this node does', 'edge,worker', listOf(role), {
    fallback: 'edge,worker',
  }),
  dataDir: setting(
    'TROUPE_DATA_DIR',
    'folder for the embedded database, mails and bootstrap.json',
    './.troupe',
    text,
    {
      fallback: './.troupe',
    },
  ),
  databaseUrl: setting(
    'DATABASE_URL',
    'PostgreSQL to use',
    'postgresql://troupe:secret@db.internal:5432/troupe',
    address('postgres', 'postgresql'),
    { secret: true },
  ),
  redisUrl: setting('REDIS_URL', 'Redis to use', 'redis://redis.internal:6379', address('redis', 'rediss'), {
    secret: true,
  }),
  masterKey: setting(
    'TROUPE_MASTER_KEY',
    'key that wraps the keys of the vault, 32 bytes in base64',
    '$(openssl rand -base64 32)',
    base64Bytes(32),
    { secret: true },
  ),
  previousMasterKeys: setting(
    'TROUPE_MASTER_KEYS_PREVIOUS',
    'earlier master keys, still accepted while `troupe vault rotate` runs',
    '<base64>,<base64>',
    listOf(base64Bytes(32)),
    { secret: true, fallback: '' },
  ),
  clusterSecret: setting(
    'TROUPE_CLUSTER_SECRET',
    'secret by which nodes prove themselves to each other; made once for the database when left out',
    '$(openssl rand -hex 32)',
    longToken,
    { secret: true },
  ),
  seed: setting('TROUPE_SEED', 'what a new installation begins with', 'none', oneOf('demo', 'none')),
  publicUrl: setting(
    'TROUPE_PUBLIC_URL',
    'address at which users reach the product',
    'https://api.example.com',
    address('http', 'https'),
  ),
  tenantUrl: setting(
    'TROUPE_TENANT_URL',
    'address of team management',
    'https://teams.example.com',
    address('http', 'https'),
  ),
  logLevel: setting(
    'TROUPE_LOG_LEVEL',
    'least level that is logged',
    'debug',
    oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'),
    { fallback: 'info' },
  ),
  egressAllow: setting(
    'TROUPE_EGRESS_ALLOW',
    'private address ranges that outbound calls of tenants may reach',
    '10.20.0.0/16,127.0.0.0/8',
    listOf(cidr),
  ),
  smtpUrl: setting(
    'TROUPE_SMTP_URL',
    'outbound mail; without it mails become files in <data dir>/outbox',
    'smtps://user:secret@mail.example.com',
    address('smtp', 'smtps'),
    {
      secret: true,
    },
  ),
  smtpInPort: setting(
    'TROUPE_SMTP_IN_PORT',
    'port at which this node takes mail for email triggers',
    '2525',
    port,
  ),
  smtpInTlsCert: setting(
    'TROUPE_SMTP_IN_TLS_CERT',
    'file with the certificate that senders of mail are shown; with the key, they may encrypt',
    '/etc/troupe/mail.pem',
    text,
  ),
  smtpInTlsKey: setting(
    'TROUPE_SMTP_IN_TLS_KEY',
    'file with the key of that certificate',
    '/etc/troupe/mail.key',
    text,
  ),
  mailDomain: setting(
    'TROUPE_MAIL_DOMAIN',
    'domain of the addresses of email triggers, <trigger_id>@<domain>; `serve` needs it to take mail',
    'agents.example.com',
    mailDomain,
  ),
  mailSenderCheck: setting(
    'TROUPE_MAIL_SENDER_CHECK',
    'whether mails must prove their senders by DMARC to be answered; off with `npm start`',
    'dmarc',
    oneOf('dmarc', 'off'),
    { fallback: 'dmarc' },
  ),
  trustedProxies: setting(
    'TROUPE_TRUSTED_PROXIES',
    'ranges whose X-Forwarded-For is believed',
    '10.0.0.0/8',
    listOf(cidr),
    {
      fallback: '',
    },
  ),
  connectionsPerAddress: setting(
    'TROUPE_CONNECTIONS_PER_ADDRESS',
    'open connections of one address (of one /64 in IPv6); trusted proxies are exempt, so name yours',
    '5000',
    wholeNumber(1, 1_000_000),
    { fallback: '1000' },
  ),
  connections: setting(
    'TROUPE_CONNECTIONS',
    'open connections of this node, those of trusted proxies included',
    '50000',
    wholeNumber(1, 1_000_000),
    { fallback: '20000' },
  ),
  bodyMegabytesPerAddress: setting(
    'TROUPE_BODY_MB_PER_ADDRESS',
    'megabytes of request bodies that this node holds for one client address at one time',
    '128',
    wholeNumber(32, 65_536),
    { fallback: '64' },
  ),
  bodyMegabytes: setting(
    'TROUPE_BODY_MB',
    'megabytes of request bodies that this node holds at one time',
    '1024',
    wholeNumber(32, 1_048_576),
    { fallback: '256' },
  ),
  oidcIssuer: setting(
    'TROUPE_OIDC_ISSUER',
    'outside issuer whose tokens are accepted',
    'https://login.example.com',
    exactAddress('http', 'https'),
  ),
  oidcAudience: setting('TROUPE_OIDC_AUDIENCE', 'audience that such tokens must name', 'troupe', text),
  operatorToken: setting(
    'TROUPE_OPERATOR_TOKEN',
    'token of operator calls; whoever guesses it may change every plan',
    '$(openssl rand -hex 32)',
    longToken,
    {
      secret: true,
    },
  ),
  newTenantsPerAddress: setting(
    'TROUPE_NEW_TENANTS_PER_ADDRESS',
    'tenants that one address (IPv6: one /64) may make in a day, by registering or otherwise',
    '100',
    wholeNumber(1, 1_000_000),
    { fallback: '1000' },
  ),
  corsOrigins: setting(
    'TROUPE_CORS_ORIGINS',
    'origins whose pages may call the API',
    'https://app.example.com',
    listOf(origin),
    {
      fallback: '',
    },
  ),
  modelsFile: setting('TROUPE_MODELS_FILE', 'file that extends the model catalogue', './models.json', text),
  sim: setting(
    'TROUPE_SIM',
    'whether the built-in vendor sim answers; on with `npm start` and with the demo seed, else off',
    'on',
    flag,
  ),
  dailyLimits: setting('TROUPE_DAILY_LIMITS', "whether the plans' daily limits hold", 'off', flag, {
    fallback: 'on',
  }),
  sandboxProcesses: setting(
    'TROUPE_SANDBOX_PROCESSES',
    'how many child processes evaluate what tenants write: expressions, schemas, Markdown',
    '4',
    wholeNumber(1, 64),
    { fallback: '2' },
  ),
  sandboxCpuSeconds: setting(
    'TROUPE_SANDBOX_CPU_SECONDS',
    'processor time in these processes for each tenant and minute, on each node',
    '30',
    wholeNumber(1, 3_600),
    { fallback: '10' },
  ),
  contextStrict: setting(
    'DEFAULTS_FROM_CONTEXT_STRICT',
    'whether a tool call without its context parameter is refused',
    'on',
    flag,
    { fallback: 'off' },
  ),
  openaiKey: setting('OPENAI_API_KEY', "the platform's key at OpenAI", 'sk-…', text, { secret: true }),
  openaiBaseUrl: setting(
    'OPENAI_BASE_URL',
    'address of OpenAI, with /v1',
    'https://api.openai.com/v1',
    address('http', 'https'),
  ),
  anthropicKey: setting('ANTHROPIC_API_KEY', "the platform's key at Anthropic", 'sk-ant-…', text, {
    secret: true,
  }),
  anthropicBaseUrl: setting(
    'ANTHROPIC_BASE_URL',
    'address of Anthropic',
    'https://api.anthropic.com',
    address('http', 'https'),
  ),
  geminiKey: setting('GEMINI_API_KEY', "the platform's key at Google", 'AIza…', text, { secret: true }),
  geminiBaseUrl: setting(
    'GEMINI_BASE_URL',
    'address of Gemini',
    'https://generativelanguage.googleapis.com',
    address('http', 'https'),
  ),
  xaiKey: setting('XAI_API_KEY', "the platform's key at xAI", 'xai-…', text, { secret: true }),
  xaiBaseUrl: setting(
    'XAI_BASE_URL',
    'address of xAI, with /v1',
    'https://api.x.ai/v1',
    address('http', 'https'),
  ),
  openrouterKey: setting('OPENROUTER_API_KEY', "the platform's key at OpenRouter", 'sk-or-…', text, {
    secret: true,
  }),
  openrouterBaseUrl: setting(
    'OPENROUTER_BASE_URL',
    'address of OpenRouter, with /api/v1',
    'https://openrouter.ai/api/v1',
    address('http', 'https'),
  ),
  compatibleVendors: setting(
    'OPENAI_COMPATIBLE_VENDORS',
    'further vendors that speak OpenAI’s protocol, as a JSON array',
    '[{"name":"local","base_url":"http://127.0.0.1:11434/v1","models":["llama3"]}]',
    json,
    { secret: true },
  ),
  twilioBaseUrl: setting(
    'TROUPE_TWILIO_BASE_URL',
    'address of Twilio',
    'https://api.twilio.com',
    address('http', 'https'),
  ),
  whatsappBaseUrl: setting(
    'TROUPE_WHATSAPP_BASE_URL',
    'address of the WhatsApp cloud API',
    'https://graph.facebook.com',
    address('http', 'https'),
  ),
} as const satisfies Record<string, Setting<unknown>>;

/** 32 hexadecimal digits are 128 bits: nobody guesses them. */
const tokenCharactersMin = 32;

function longToken(value: string): string {
  const token = text(value).trim();
  if (token.length < tokenCharactersMin) {
    throw new Error(`must have at least ${tokenCharactersMin} characters and has ${token.length}`);
  }
  // The operator token travels as a bearer token, which ends at the first space.
  if (/\s/.test(token)) throw new Error('must not hold spaces');
  return token;
}

function mailDomain(value: string): string {
  const domain = value.trim().toLowerCase();
  const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
  if (domain.length > 253 || !new RegExp(`^${label}(?:\\.${label})*$`).test(domain)) {
    throw new Error('must be a domain such as agents.example.com');
  }
  return domain;
}

function nodeName(value: string): string {
  if (!/^[\w.-]{1,48}$/.test(value)) throw new Error('must be 1 to 48 letters, digits, dots or dashes');
  return value;
}

type Table = typeof settingTable;

/** The value of each setting; undefined only where it is unset and has no default. */
export type Settings = {
  readonly [Name in keyof Table]: Table[Name] extends SettingWithDefault<infer Value>
    ? Value
    : Table[Name] extends Setting<infer Value>
      ? Value | undefined
      : never;
};
