import { readSettings } from '../../kernel/config/index.js';
import { migrate } from '../../infra/storage/index.js';
import type { Command } from './command.js';
import { requireDatabase } from './services.js';

export const migrateCommand: Command = {
  run: async (_rest, environment) => {
    const settings = readSettings(environment, { required: ['databaseUrl'] });
    await requireDatabase(settings.databaseUrl ?? '');
    const { applied } = await migrate({ databaseUrl: settings.databaseUrl ?? '' });
    const report =
      applied.length === 0
        ? 'The database is up to date.'
        : applied.map((name) => `applied ${name}`).join('\n');
    process.stdout.write(`${report}\n`);
  },
};
