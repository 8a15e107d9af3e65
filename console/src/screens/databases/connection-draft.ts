import type { paths } from '#api/openapi';
import type { Database } from './database-data';

export type PasswordFrom = 'kept' | 'secret' | 'password';

/** What is written in the form. Texts, so that a half-written value stays as it is. */
export interface ConnectionDraft {
  readonly name: string;
  readonly description: string;
  readonly host: string;
  readonly port: string;
  readonly database: string;
  readonly username: string;
  readonly ssl: boolean;
  readonly passwordFrom: PasswordFrom;
  readonly secret: string;
  readonly password: string;
  readonly onlySome: boolean;
  readonly tables: string;
  readonly isPrimary: boolean;
  readonly isActive: boolean;
}

export const emptyDraft: ConnectionDraft = {
  name: '',
  description: '',
  host: '',
  port: '5432',
  database: '',
  username: '',
  ssl: true,
  passwordFrom: 'secret',
  secret: '',
  password: '',
  onlySome: false,
  tables: '',
  isPrimary: false,
  isActive: true,
};

export function draftOf(database: Database): ConnectionDraft {
  const {
    host,
    port,
    database: name,
    username,
    ssl,
    password_secret_ref: secret,
  } = database.connection_config;
  const tables = database.settings.allowed_tables;
  return {
    ...emptyDraft,
    name: database.name,
    description: database.description,
    host,
    port: String(port),
    database: name,
    username,
    ssl,
    passwordFrom: secret === undefined ? 'kept' : 'secret',
    secret: secret ?? '',
    onlySome: tables !== undefined,
    tables: (tables ?? []).join('\n'),
    isPrimary: database.is_primary,
    isActive: database.is_active,
  };
}

export const tablesIn = ({ tables }: Pick<ConnectionDraft, 'tables'>): string[] =>
  tables.split(/[\s,]+/).filter(Boolean);

function placeOf({ host, port, database, username, ssl }: ConnectionDraft) {
  return { host: host.trim(), port: Number(port), database, username, ssl };
}

function credentialOf({ passwordFrom, secret, password }: ConnectionDraft) {
  if (passwordFrom === 'secret') return { password_secret_ref: secret };
  return passwordFrom === 'password' ? { password } : {};
}

type NewDatabase = NonNullable<
  paths['/api/database-configs']['post']['requestBody']
>['content']['application/json'];

/** What a creation sends, and, with null for what shall go, a change. */
export function bodyOf(draft: ConnectionDraft): NewDatabase {
  return {
    name: draft.name,
    description: draft.description,
    connection_config: { ...placeOf(draft), ...credentialOf(draft) },
    settings: { allowed_tables: draft.onlySome ? tablesIn(draft) : null },
    is_primary: draft.isPrimary,
    is_active: draft.isActive,
  };
}

/** What a trial sends; undefined while the stored password, which nobody can read, is kept. */
export function trialOf(draft: ConnectionDraft) {
  if (draft.passwordFrom === 'kept') return undefined;
  return {
    ...placeOf(draft),
    ...credentialOf(draft),
    allowed_tables: draft.onlySome ? tablesIn(draft) : null,
  };
}

/** The API names fields of the connection by their place in the body. */
export const fieldNames = {
  name: 'name',
  description: 'description',
  host: 'connection_config.host',
  port: 'connection_config.port',
  database: 'connection_config.database',
  username: 'connection_config.username',
  secret: 'connection_config.password_secret_ref',
  password: 'connection_config.password',
  tables: 'settings.allowed_tables',
} as const;
