import { systemRandom } from '../../../cluster/index.js';
import { OperatorReports } from '../operator/index.js';
import { resealClusterIdentity } from '../../infra/runtime/index.js';
import type { Environment } from '../../kernel/config/index.js';
import { tenantScope } from '../../kernel/tenant-scope.js';
import { type Command, isId, readArguments, usageError, unknownAction } from './command.js';
import { resealTriggers } from '../../automation/index.js';
import { resealResponses } from '../../models/responses/index.js';
import { resealAttachments } from '../../conversations/attachments/index.js';
import { resealExecutionValues } from '../../conversations/sessions/index.js';
import { resealKeptAnswers } from '../../http/idempotency/index.js';
import { textOptions, usageOf } from './help.js';
import { withManagement } from './management.js';
import { operatorHelp } from './operator-help.js';

const usage = usageOf(operatorHelp.vault);

export const vaultCommand: Command = {
  run: async (rest, environment) => {
    const { values, positionals } = readArguments(rest, textOptions(operatorHelp.vault), usage);
    if (positionals.length !== 1 || positionals[0] !== 'rotate') {
      const action = positionals.length === 0 ? undefined : positionals.join(' ');
      throw usageError(unknownAction(action, operatorHelp.vault.actions), usage);
    }
    const tenant = values['tenant'];
    if (tenant !== undefined) {
      if (!isId(tenant)) throw usageError(`--tenant ${tenant} is not the id of a tenant`, usage);
      return rotateDataKey(environment, tenant);
    }
    await withManagement(environment, async ({ vault, identity, mail, store, sealer }) => {
      const { wrapped } = await vault.rotateMasterKey('operator');
      await identity.resealSigningKeys();
      await resealClusterIdentity({ store, sealer, random: systemRandom });
      await mail.reseal();
      await resealTriggers(store, sealer);
      await resealResponses(store, sealer);
      await resealAttachments(store, sealer);
      await resealExecutionValues(store, sealer);
      await resealKeptAnswers(store, sealer);
      process.stdout.write(
        `${wrapped} data keys were wrapped again. The previous key is no longer needed.\n`,
      );
    });
  },
};

function rotateDataKey(environment: Environment, tenantId: string): Promise<void> {
  return withManagement(environment, async ({ vault, store }) => {
    // An unknown tenant is refused first.
    await new OperatorReports(store, Date.now).tenant(tenantId);
    const { sealed } = await vault.rotateDataKey(tenantScope(tenantId), 'operator');
    process.stdout.write(`The tenant has a new data key; ${sealed} secrets were sealed again.\n`);
  });
}
