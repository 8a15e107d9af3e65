import { type Command, wrongWords } from './command.js';
import { resealTriggers } from '../triggers/index.js';
import { withManagement } from './management.js';

const words = 'vault rotate';

export const vaultCommand: Command = {
  name: 'vault',
  words,
  summary:
    'wrap all data keys anew with TROUPE_MASTER_KEY; the old key stands in TROUPE_MASTER_KEYS_PREVIOUS',
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
