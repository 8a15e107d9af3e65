import { roles } from '../context/caller.js';
import { tenantScope } from '../context/tenant-scope.js';
import { keyPrefixes } from '../keys/index.js';
import { type Command, readWords, table, wrongWords } from './command.js';
import { withManagement } from './management.js';

const words =
  'keys create --tenant ID --name NAME [--role owner|admin|editor|member] [--prefix svc_live_|svc_test_|svc_dev_] [--rpm N] [--quota N] [--expires-days N] | list --tenant ID | revoke --tenant ID KEY_ID';

const options = {
  tenant: undefined,
  name: undefined,
  role: 'admin',
  prefix: 'svc_live_',
  rpm: undefined,
  quota: undefined,
  'expires-days': undefined,
};

export const keysCommand: Command = {
  name: 'keys',
  words: 'keys create|list|revoke …',
  summary: 'make, list and revoke API keys, owner keys among them',
  run: async (rest, environment) => {
    const { values, positionals } = readWords(rest, options, words);
    const [action, keyId] = positionals;
    const name = values['name'];
    const tenantId = values['tenant'];
    if (tenantId === undefined) throw wrongWords('--tenant is missing', words);
    const scope = tenantScope(tenantId);
    await withManagement(environment, async ({ keys }) => {
      switch (action) {
        case 'create': {
          const role = roles.find((one) => one === values['role']);
          const prefix = keyPrefixes.find((one) => one === values['prefix']);
          if (name === undefined) throw wrongWords('--name is missing', words);
          if (role === undefined) throw wrongWords(`there is no role ${values['role']}`, words);
          if (prefix === undefined) throw wrongWords(`there is no prefix ${values['prefix']}`, words);
          const made = await keys.create(scope, 'operator', {
            name,
            role,
            prefix,
            rateLimitPerMinute: numberOf(values['rpm'], '--rpm'),
            quotaLimit: numberOf(values['quota'], '--quota'),
            expiresInDays: numberOf(values['expires-days'], '--expires-days'),
          });
          process.stderr.write(`Made the ${role} key ${made.id}. It is shown only now.\n`);
          process.stdout.write(`${made.apiKey}\n`);
          return;
        }
        case 'list': {
          const { items } = await keys.list(scope);
          const rows = items.map((key) => [key.id, key.prefix + key.suffix, key.role, key.status, key.name]);
          process.stdout.write(`${table([['id', 'key', 'role', 'status', 'name'], ...rows])}\n`);
          return;
        }
        case 'revoke': {
          if (keyId === undefined) throw wrongWords('name the id of the key', words);
          await keys.revoke(scope, 'operator', keyId);
          process.stdout.write(`Revoked ${keyId}.\n`);
          return;
        }
        default:
          throw wrongWords(`there is no action ${action ?? ''}`, words);
      }
    });
  },
};

function numberOf(text: string | undefined, name: string): number | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  if (!Number.isFinite(number) || number <= 0) throw wrongWords(`${name} must be a number above 0`, words);
  return number;
}
