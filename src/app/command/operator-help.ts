import type { CommandHelp } from './help.js';

const tenant = { value: 'ID', about: 'the tenant; may be left out if there is only one' };

/** The commands of an operator, beside the database and the nodes of an installation. */
export const operatorHelp = {
  start: {
    usage: ['start'],
    summary: `Runs one node with a database of its own, for trying out and developing. Data is kept in TROUPE_DATA_DIR, .troupe by
default; the next start finds it again. Prints a sign-in, an API key and a request to try. Ctrl-C stops.`,
    options: {},
  },
  serve: {
    usage: ['serve'],
    summary: `Runs one production node. Needs DATABASE_URL, REDIS_URL and TROUPE_MASTER_KEY; troupe config lists every setting.
SIGTERM: the node hands over its work within 25 s and exits with 0. Exit code 3: it lost its lease, and a new process may
start at once.`,
    options: {},
  },
  migrate: {
    usage: ['migrate'],
    summary: 'Applies pending migrations to DATABASE_URL. A starting node does the same.',
    options: {},
  },
  doctor: {
    usage: ['doctor [--vendors]'],
    summary: 'Checks every dependency and suggests fixes. Exit code 1: something is wrong.',
    options: {
      vendors: { about: 'ask each model vendor whether its keys work; lists models, which costs nothing' },
    },
  },
  config: {
    usage: ['config'],
    summary:
      'Lists every setting, its value and meaning; secrets are not shown. Exit code 1: a setting is invalid.',
    options: {},
  },
  keys: {
    usage: [
      'keys create [--tenant ID] [--name NAME] [--role ROLE] [limits …]',
      'keys list [--tenant ID]',
      'keys revoke KEY_ID [--tenant ID]',
    ],
    summary: 'Creates, lists and revokes API keys, including owner keys. A new key is printed once.',
    actions: ['create', 'list', 'revoke'],
    options: {
      tenant,
      name: { value: 'NAME', about: 'what the key is for' },
      role: { value: 'ROLE', about: 'owner, admin, editor or member; admin by default' },
      prefix: { value: 'PREFIX', about: 'svc_live_, svc_test_ or svc_dev_; svc_live_ by default' },
      'rate-limit': { value: 'N', about: 'requests a minute' },
      quota: { value: 'N', about: 'calls of models and turns over the life of the key' },
      'expires-in-days': { value: 'N', about: 'the key ends after so many days' },
      'budget-usd': { value: 'N', about: 'dollars for each --budget-period' },
      'budget-period': { value: 'PERIOD', about: 'day or month' },
      'allowed-models': { value: 'NAME,…', about: 'models that the key may call; all by default' },
      'allowed-ips': { value: 'CIDR,…', about: 'addresses that may use the key; all by default' },
    },
  },
  tenants: {
    usage: [
      'tenants list [--search TEXT] [--plan PLAN] [--status STATUS]',
      'tenants show ID',
      'tenants create NAME [--plan PLAN] [--owner MAIL]',
      'tenants plan ID PLAN',
      'tenants suspend ID --reason TEXT',
      'tenants resume ID',
      'tenants delete ID --confirm NAME',
    ],
    summary: 'Lists, creates, suspends, resumes and deletes tenants, and changes their plan.',
    actions: ['list', 'show', 'create', 'plan', 'suspend', 'resume', 'delete'],
    options: {
      search: { value: 'TEXT', about: 'tenants whose name or id has this text' },
      status: { value: 'STATUS', about: 'active, suspended or deleting' },
      plan: { value: 'PLAN', about: 'free, basic, pro or enterprise; a new tenant is on free by default' },
      owner: { value: 'MAIL', about: 'the user who owns the new tenant' },
      reason: { value: 'TEXT', about: 'why the tenant is suspended, for the audit log' },
      confirm: { value: 'NAME', about: 'the name of the tenant that is deleted for good' },
    },
  },
  users: {
    usage: [
      'users list [--search TEXT]',
      'users disable ID',
      'users enable ID',
      'users create MAIL [--name NAME]',
      'users invite MAIL --tenant ID [--role ROLE]',
    ],
    summary: 'Lists, disables, creates and invites users. The password of a created user is printed once.',
    actions: ['list', 'disable', 'enable', 'create', 'invite'],
    options: {
      search: { value: 'TEXT', about: 'users whose address or name has this text' },
      name: { value: 'NAME', about: 'the name of the new user' },
      tenant: { value: 'ID', about: 'the tenant that the user is invited to' },
      role: { value: 'ROLE', about: 'owner, admin, editor or member; member by default' },
    },
  },
  usage: {
    usage: ['usage [--group-by tenant|model|day] [--start-date DATE] [--end-date DATE]'],
    summary: 'Calls, tokens and cost of all tenants; of the last 30 days by default.',
    options: {
      'group-by': { value: 'GROUP', about: 'tenant, model or day; tenant by default' },
      'start-date': { value: 'DATE', about: 'from this day or moment on' },
      'end-date': { value: 'DATE', about: 'up to this day or moment' },
    },
  },
  backup: {
    usage: ['backup --to FOLDER'],
    summary:
      'Copies all data of one moment into a new folder, while nodes serve. The master key is not in it.',
    options: { to: { value: 'FOLDER', about: 'a folder that does not exist yet' } },
  },
  restore: {
    usage: ['restore --from FOLDER'],
    summary: 'Loads a backup into an empty database, with its master key. No node may run.',
    options: { from: { value: 'FOLDER', about: 'the folder that troupe backup wrote' } },
  },
  mcp: {
    usage: ['mcp [--toolsets NAMES] [--tools NAMES] [--read-only]'],
    summary: `Serves MCP over standard input and output, for a client that starts programs. Needs TROUPE_API_KEY; TROUPE_BASE_URL
is http://127.0.0.1:8080 by default, and TROUPE_ROLE lowers the rights of the key.`,
    options: {
      toolsets: { value: 'NAMES', about: 'offer the tools of these sets, comma-separated' },
      tools: { value: 'NAMES', about: 'offer these tools, comma-separated' },
      'read-only': { value: 'on|off', about: 'offer only tools that change nothing; on without a value' },
    },
  },
  vault: {
    usage: ['vault rotate [--tenant ID]'],
    summary: `Wraps all data keys again with TROUPE_MASTER_KEY, after the former key was moved to TROUPE_MASTER_KEYS_PREVIOUS. With
--tenant, gives that tenant a new data key instead.`,
    actions: ['rotate'],
    options: { tenant: { value: 'ID', about: 'give this tenant a new data key' } },
  },
} as const satisfies Readonly<Record<string, CommandHelp>>;
