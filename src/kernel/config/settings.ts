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
import { telemetryTable } from './telemetry-table.js';
import { vendorTable } from './vendor-table.js';

const port = wholeNumber(0, 65_535);

function cidr(value: string): string {
  if (ipaddr.isValidCIDR(value)) return value;
  if (ipaddr.isValid(value)) return `${value}/${value.includes(':') ? 128 : 32}`;
  throw new Error(`contains ${value}, which is not an address range`);
}

const role = oneOf('edge', 'worker');

/**
 * Every setting of the product. `troupe config` lists them, and every start checks them all. No other code reads the
 * environment.
 */
export const settingTable = {
  httpHost: setting('TROUPE_HTTP_HOST', 'address that HTTP listens on', '0.0.0.0', text, {
    fallback: '127.0.0.1',
  }),
  httpPort: setting('TROUPE_HTTP_PORT', 'HTTP port; 0 picks a free one', '8080', port, {
    fallback: '8080',
  }),
  grpcHost: setting('TROUPE_GRPC_HOST', 'address that links between nodes listen on', '0.0.0.0', text, {
    fallback: '127.0.0.1',
  }),
  grpcPort: setting('TROUPE_GRPC_PORT', 'port for links between nodes; 0 picks a free one', '9090', port, {
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
    'file with the certificate authority for links between nodes; TLS needs this, _CERT and _KEY',
    '/etc/troupe/ca.pem',
    text,
  ),
  grpcTlsCert: setting(
    'TROUPE_GRPC_TLS_CERT',
    'file with the certificate that this node presents to other nodes',
    '/etc/troupe/node.pem',
    text,
  ),
  grpcTlsKey: setting(
    'TROUPE_GRPC_TLS_KEY',
    'file with the private key of TROUPE_GRPC_TLS_CERT',
    '/etc/troupe/node.key',
    text,
  ),
  grpcInsecure: setting(
    'TROUPE_GRPC_INSECURE',
    'on: allow links between machines without TLS; only if their network is protected in another way',
    'on',
    flag,
    { fallback: 'off' },
  ),
  nodeId: setting('TROUPE_NODE_ID', 'name of this process; default: a random id', 'node-a', nodeName),
  nodeRoles: setting('TROUPE_NODE_ROLES', 'roles of this node', 'edge,worker', listOf(role), {
    fallback: 'edge,worker',
  }),
  dataDir: setting(
    'TROUPE_DATA_DIR',
    'folder for the embedded database, mails and bootstrap.json',
    './.troupe',
    text,
    { fallback: './.troupe' },
  ),
  databaseUrl: setting(
    'DATABASE_URL',
    'URL of the PostgreSQL database',
    'postgresql://troupe:secret@db.internal:5432/troupe',
    address('postgres', 'postgresql'),
    { secret: true },
  ),
  redisUrl: setting('REDIS_URL', 'URL of Redis', 'redis://redis.internal:6379', address('redis', 'rediss'), {
    secret: true,
  }),
  masterKey: setting(
    'TROUPE_MASTER_KEY',
    'key that encrypts the data keys of the vault, 32 bytes in base64',
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
    'secret by which nodes authenticate to each other; default: created once and stored in the database',
    '$(openssl rand -hex 32)',
    longToken,
    { secret: true },
  ),
  seed: setting('TROUPE_SEED', 'initial data of a new installation', 'none', oneOf('demo', 'none')),
  publicUrl: setting(
    'TROUPE_PUBLIC_URL',
    'URL at which users reach the product',
    'https://api.example.com',
    address('http', 'https'),
  ),
  tenantUrl: setting(
    'TROUPE_TENANT_URL',
    'URL of team management',
    'https://teams.example.com',
    address('http', 'https'),
  ),
  logLevel: setting(
    'TROUPE_LOG_LEVEL',
    'lowest level that is logged',
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
    'SMTP server for outgoing mail; default: mails are written to files in <data dir>/outbox',
    'smtps://user:secret@mail.example.com',
    address('smtp', 'smtps'),
    { secret: true },
  ),
  smtpInPort: setting(
    'TROUPE_SMTP_IN_PORT',
    'port on which this node receives mail for email triggers',
    '2525',
    port,
  ),
  smtpInTlsCert: setting(
    'TROUPE_SMTP_IN_TLS_CERT',
    'file with the certificate for incoming mail; with the key, senders can use TLS',
    '/etc/troupe/mail.pem',
    text,
  ),
  smtpInTlsKey: setting(
    'TROUPE_SMTP_IN_TLS_KEY',
    'file with the private key of TROUPE_SMTP_IN_TLS_CERT',
    '/etc/troupe/mail.key',
    text,
  ),
  mailDomain: setting(
    'TROUPE_MAIL_DOMAIN',
    'domain of email triggers, <trigger_id>@<domain>; `serve` needs it to receive mail',
    'agents.example.com',
    mailDomain,
  ),
  mailSenderCheck: setting(
    'TROUPE_MAIL_SENDER_CHECK',
    'dmarc: answer a mail only if DMARC proves its sender; off: do not check (default of `npm start`)',
    'dmarc',
    oneOf('dmarc', 'off'),
    { fallback: 'dmarc' },
  ),
  trustedProxies: setting(
    'TROUPE_TRUSTED_PROXIES',
    'address ranges of proxies whose X-Forwarded-For header is trusted',
    '10.0.0.0/8',
    listOf(cidr),
    { fallback: '' },
  ),
  connectionsPerAddress: setting(
    'TROUPE_CONNECTIONS_PER_ADDRESS',
    'maximum of open connections per client address (per /64 in IPv6); trusted proxies are exempt',
    '5000',
    wholeNumber(1, 1_000_000),
    { fallback: '1000' },
  ),
  connections: setting(
    'TROUPE_CONNECTIONS',
    'maximum of open connections of this node, including those of trusted proxies',
    '50000',
    wholeNumber(1, 1_000_000),
    { fallback: '20000' },
  ),
  bodyMegabytesPerAddress: setting(
    'TROUPE_BODY_MB_PER_ADDRESS',
    'megabytes of request bodies that this node holds at once for one client address',
    '128',
    wholeNumber(32, 65_536),
    { fallback: '64' },
  ),
  bodyMegabytes: setting(
    'TROUPE_BODY_MB',
    'megabytes of request bodies that this node holds at once',
    '1024',
    wholeNumber(32, 1_048_576),
    { fallback: '256' },
  ),
  oidcIssuer: setting(
    'TROUPE_OIDC_ISSUER',
    'external token issuer whose tokens are accepted',
    'https://login.example.com',
    exactAddress('http', 'https'),
  ),
  oidcAudience: setting('TROUPE_OIDC_AUDIENCE', 'audience that these tokens must name', 'troupe', text),
  oidcClientId: setting(
    'TROUPE_OIDC_CLIENT_ID',
    'client at this issuer by which people sign in to the console; its redirect address is TROUPE_PUBLIC_URL with /sign-in/return',
    'troupe-console',
    text,
  ),
  oidcClientSecret: setting('TROUPE_OIDC_CLIENT_SECRET', 'secret of this client, if it has one', '…', text, {
    secret: true,
  }),
  operatorToken: setting(
    'TROUPE_OPERATOR_TOKEN',
    'token for operator calls, which can change every plan; use a long random value',
    '$(openssl rand -hex 32)',
    longToken,
    { secret: true },
  ),
  metricsTenants: setting(
    'TROUPE_METRICS_TENANTS',
    'tenants with series of their own in /metrics, the busiest on each node; the others share the label "other"',
    '200',
    wholeNumber(0, 1_000),
    { fallback: '50' },
  ),
  registration: setting(
    'TROUPE_REGISTRATION',
    'who may register an account: open (everyone), invite (addresses with a pending invitation) or closed (nobody)',
    'invite',
    oneOf('open', 'invite', 'closed'),
    { fallback: 'open' },
  ),
  verifyEmail: setting(
    'TROUPE_VERIFY_EMAIL',
    "on: tenants whose owners have not verified an address spend nothing of the platform's vendor keys and send no mail; serve sets it on",
    'on',
    flag,
    { fallback: 'off' },
  ),
  newTenantsPerAddress: setting(
    'TROUPE_NEW_TENANTS_PER_ADDRESS',
    'tenants that one address (IPv6: one /64) may create per day',
    '100',
    wholeNumber(1, 1_000_000),
    { fallback: '1000' },
  ),
  corsOrigins: setting(
    'TROUPE_CORS_ORIGINS',
    'origins whose pages may call the API',
    'https://app.example.com',
    listOf(origin),
    { fallback: '' },
  ),
  modelsFile: setting('TROUPE_MODELS_FILE', 'file with further models and aliases', './models.json', text),
  sim: setting(
    'TROUPE_SIM',
    'on: enable the simulated vendor sim; default: on with `npm start` and with the demo seed, otherwise off',
    'on',
    flag,
  ),
  dailyLimits: setting('TROUPE_DAILY_LIMITS', "whether the plans' daily limits apply", 'off', flag, {
    fallback: 'on',
  }),
  sandboxProcesses: setting(
    'TROUPE_SANDBOX_PROCESSES',
    'number of child processes that evaluate the expressions, schemas and Markdown of tenants',
    '4',
    wholeNumber(1, 64),
    { fallback: '2' },
  ),
  sandboxCpuSeconds: setting(
    'TROUPE_SANDBOX_CPU_SECONDS',
    'seconds of CPU time in these processes per tenant and minute, on each node',
    '30',
    wholeNumber(1, 3_600),
    { fallback: '10' },
  ),
  contextStrict: setting(
    'DEFAULTS_FROM_CONTEXT_STRICT',
    'on: refuse a tool call without its context parameter',
    'on',
    flag,
    { fallback: 'off' },
  ),
  ...telemetryTable,
  ...vendorTable,
  twilioBaseUrl: setting(
    'TROUPE_TWILIO_BASE_URL',
    'URL of the Twilio API',
    'https://api.twilio.com',
    address('http', 'https'),
  ),
  whatsappBaseUrl: setting(
    'TROUPE_WHATSAPP_BASE_URL',
    'URL of the WhatsApp Cloud API',
    'https://graph.facebook.com',
    address('http', 'https'),
  ),
  slackBaseUrl: setting(
    'TROUPE_SLACK_BASE_URL',
    'URL of the Slack API, without /api',
    'https://slack.com',
    address('http', 'https'),
  ),
} as const satisfies Record<string, Setting<unknown>>;

/** 32 hexadecimal digits are 128 bits, too many to guess. */
const tokenCharactersMin = 32;

function longToken(value: string): string {
  const token = text(value).trim();
  if (token.length < tokenCharactersMin) {
    throw new Error(`must have at least ${tokenCharactersMin} characters, but has ${token.length}`);
  }
  // The operator token travels as a bearer token, which ends at the first space.
  if (/\s/.test(token)) throw new Error('must not contain spaces');
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

/** The value of each setting; undefined only if the setting is unset and has no default. */
export type Settings = {
  readonly [Name in keyof Table]: Table[Name] extends SettingWithDefault<infer Value>
    ? Value
    : Table[Name] extends Setting<infer Value>
      ? Value | undefined
      : never;
};
