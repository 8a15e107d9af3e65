import { type Command, wrongWords } from './command.js';
import { resealTriggers } from '../../automation/index.js';
import { withManagement } from './management.js';

const words = 'vault rotate';

export const vaultCommand: Command = {
  run: async (rest, environment) => {
    if (rest.length !== 1 || rest[0] !== 'rotate')
      throw wrongWords(`there is no action ${rest.join(' ')}`, words);
    await withManagement(environment, async ({ vault, identity, mail, store, sealer }) => {
      const { wrapped } = await vault.rotateMasterKey('operator');
      await identity.resealSigningKeys();
      await mail.reseal();
      await resealTriggers(store, sealer);
      process.stdout.write(`${wrapped} data keys were wrapped anew. The previous key is no longer needed.\n`);
    });
  },
};
