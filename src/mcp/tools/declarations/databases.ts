import type { Tool } from '../tool.js';

const config = { params: { id: 'config_id' } } as const;
/** Arguments enter a model's context and its client's history: a password comes from the vault alone. */
const stored = { omit: ['connection_config.password'] } as const;
const adHoc = { omit: ['password'] } as const;

export const databaseTools: readonly Tool[] = [
  {
    name: 'list_database_configs',
    title: 'List database configurations',
    description:
      'Use to find the databases that triggers and agents may read. Returns configurations newest first; passwords are never shown.',
    operation: 'databases.list',
    hints: 'R',
  },
  {
    name: 'get_database_config',
    title: 'Get a database configuration',
    description:
      'Use to read one configuration with its cached schema and how fresh that is. Where it is stale, call refresh_database_schema.',
    operation: 'databases.get',
    hints: 'R',
    ...config,
    output: {
      type: 'object',
      properties: {
        success: { const: true },
        data: { type: 'object', description: 'The configuration.' },
        freshness: { type: 'object', description: 'The age of the cached schema.' },
      },
      required: ['success', 'data', 'freshness'],
    },
    run: async (call, input) => {
      const [found, freshness] = await Promise.all([
        call.operation('databases.get', input),
        call.operation('databases.freshness', input),
      ]);
      return { ...found, freshness };
    },
  },
  {
    name: 'create_database_config',
    title: 'Create a database configuration',
    description:
      'Use to connect a PostgreSQL database. Give the password as password_secret_ref, the name of a secret. Try it first with test_database_connection; then call refresh_database_schema.',
    operation: 'databases.create',
    hints: '',
    ...stored,
  },
  {
    name: 'update_database_config',
    title: 'Change a database configuration',
    description:
      'Use to change a configuration; fields that you leave out keep their values. A new host or port needs the password again, or an approval by an owner or admin.',
    operation: 'databases.update',
    hints: 'I',
    ...stored,
    ...config,
  },
  {
    name: 'refresh_database_schema',
    title: 'Read a database schema again',
    description:
      'Use after tables changed. Connects, reads tables and columns into the cache, and returns the configuration.',
    operation: 'databases.refresh-schema',
    hints: 'OI',
    ...config,
  },
  {
    name: 'test_database_connection',
    title: 'Try a database connection',
    description:
      'Use before create_database_config. Connects and reads one of the allowed tables. Returns whether it worked and, if not, why.',
    operation: 'databases.test',
    hints: 'RO',
    ...adHoc,
  },
  {
    name: 'discover_database_schema',
    title: 'List the tables of a database',
    description:
      'Use to choose allowed tables. Connects and returns schemas, tables and views. Then call create_database_config.',
    operation: 'databases.discover',
    hints: 'RO',
    ...adHoc,
  },
  {
    name: 'delete_database_config',
    title: 'Delete a database configuration',
    description:
      'Use to disconnect a database. Triggers that read it stop. list_database_configs with includeDeleted still shows it.',
    operation: 'databases.delete',
    adminClass: 'delete',
    hints: 'DI',
    ...config,
  },
];
