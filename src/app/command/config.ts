import { describeSettings, readSettings, SettingsError } from '../../kernel/config/index.js';
import type { Command } from './command.js';

export const configCommand: Command = {
  run: async (_rest, environment) => {
    process.stdout.write(`${describeSettings(environment).join('\n')}\n`);
    try {
      readSettings(environment);
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error;
      process.stdout.write(`\n${error.message}\n`);
      process.exitCode = 1;
    }
  },
};
