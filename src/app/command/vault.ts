import { type Command, usageError, unknownAction } from './command.js';
import { resealTriggers } from '../../automation/index.js';
import { withManagement } from './management.js';

const usage = 'vault rotate';

export const vaultCommand: Command = {
  run: async (rest, environment) => {
    if (rest.length !== 1 || rest[0] !== 'rotate')
      throw usageError(unknownAction(rest.length === 0 ? undefined : rest.join(' '), ['rotate']), usage);
    await withManagement(environment, async ({ vault, identity, mail, store, sealer }) => {
      const { wrapped } = await vault.rotateMasterKey('operator');
      await identity.resealSigningKeys();
      await mail.reseal();
      await resealTriggers(store, sealer);
      process.stdout.write(
        `${wrapped} data keys were wrapped again. The previous key is no longer needed.\n`,
      );
    });
  },
};
