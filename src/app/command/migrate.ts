import { readSettings } from '../../kernel/config/index.js';
import { migrate } from '../../infra/storage/index.js';
import type { Command } from './command.js';
import { requireDatabase } from './services.js';

export const migrateCommand: Command = {
  run: async (_rest, environment) => {
    const settings = readSettings(environment, { required: ['databaseUrl'] });
    await requireDatabase(settings.databaseUrl ?? '');
    // The job of a release that is put back must pass on the schema of the next one, on which its nodes can run.
    const { applied, isNewer } = await migrate({
      databaseUrl: settings.databaseUrl ?? '',
      acceptNewer: true,
      note: (what, facts) => process.stderr.write(`troupe: ${what}: ${JSON.stringify(facts)}\n`),
    });
    const nothing = isNewer
      ? 'The database has the schema of the next release, on which this version can run. Nothing was applied.'
      : 'The database is up to date.';
    const report = applied.length === 0 ? nothing : applied.map((name) => `applied ${name}`).join('\n');
    process.stdout.write(`${report}\n`);
  },
};
