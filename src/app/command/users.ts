import { randomBytes } from 'node:crypto';
import { OperatorReports, userRowFrom } from '../operator/index.js';
import { type Role, roles } from '../../kernel/caller.js';
import { tenantScope } from '../../kernel/tenant-scope.js';
import { emailAddress } from '../../tenancy/identity/index.js';
import {
  choiceOf,
  type Command,
  CommandError,
  isId,
  readArguments,
  table,
  unknownAction,
  usageError,
} from './command.js';
import { textOptions, usageOf } from './help.js';
import { type Management, withManagement } from './management.js';
import { operatorHelp } from './operator-help.js';
import { everyPage } from './pages.js';

const usage = usageOf(operatorHelp.users);
const options = textOptions(operatorHelp.users, { role: 'member' });

export const usersCommand: Command = {
  run: async (rest, environment) => {
    const { values, positionals } = readArguments(rest, options, usage);
    // Check the arguments before opening anything.
    const act = actionOf(positionals, values);
    await withManagement(environment, act, { onlyReads: positionals[0] === 'list' });
  },
};

type Act = (management: Management) => Promise<void>;

function actionOf(
  [action, first]: readonly string[],
  { search, name, tenant, role }: Readonly<Record<string, string | undefined>>,
): Act {
  switch (action) {
    case 'list':
      return list(search);
    case 'disable':
    case 'enable': {
      if (first === undefined || !isId(first)) throw usageError(`${action} needs the id of a user`, usage);
      return async ({ identity: { accounts } }) => {
        if (!(await accounts[action](first, 'operator')))
          throw new CommandError(`There is no user ${first}.`);
        say(`${first} is ${action}d.`);
      };
    }
    case 'create':
      return create(mailOf(action, first), name);
    case 'invite': {
      if (tenant === undefined || !isId(tenant)) throw usageError('invite needs --tenant with an id', usage);
      return invite(
        mailOf(action, first),
        tenant,
        choiceOf(role ?? '', { what: 'role', choices: roles, usage }),
      );
    }
    default:
      throw usageError(unknownAction(action, operatorHelp.users.actions), usage);
  }
}

function mailOf(action: string, word: string | undefined): string {
  if (word === undefined || !emailAddress.safeParse(word).success)
    throw usageError(`${action} needs an email address`, usage);
  return word;
}

function list(search: string | undefined): Act {
  return async ({ store }) => {
    const reports = new OperatorReports(store, Date.now);
    const users = await everyPage((page) => reports.users(search, page));
    const rows = users
      .map(userRowFrom)
      .map((row) => [row.id, row.email, row.status, row.tenants.map(({ name }) => name).join(', ')]);
    say(table([['id', 'email', 'status', 'tenants'], ...rows]));
  };
}

const passwordBytes = 18;

/** The operator vouches for the address. The password is shown once; the user changes it or asks for a reset. */
function create(email: string, name: string | undefined): Act {
  return async ({ identity: { accounts } }) => {
    const password = randomBytes(passwordBytes).toString('base64url');
    const { data } = await accounts.registerByOperator({ email, password, name });
    process.stderr.write(`Created the user ${data.user.id}. The password is shown only now.\n`);
    say(password);
  };
}

/** The running nodes send the mail. */
function invite(email: string, tenantId: string, role: Role): Act {
  return async ({ store, settings, invites }) => {
    if (settings.publicUrl === undefined)
      throw new CommandError('TROUPE_PUBLIC_URL is missing: the link in the mail begins with it.');
    await new OperatorReports(store, Date.now).tenant(tenantId);
    const made = await invites.createByOperator(tenantScope(tenantId), email, role);
    say(`${made.id} invites ${email} as ${made.role}.`);
  };
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
