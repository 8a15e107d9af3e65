import { z } from 'zod';
import { OperatorReports } from '../operator/index.js';
import { installationGroups } from '../../models/usage/index.js';
import { momentText, reportRange } from '../../models/telemetry/index.js';
import { choiceOf, type Command, readArguments, table, usageError } from './command.js';
import { textOptions, usageOf } from './help.js';
import { type Management, withManagement } from './management.js';
import { operatorHelp } from './operator-help.js';

const usage = usageOf(operatorHelp.usage);
const options = textOptions(operatorHelp.usage, { 'group-by': 'tenant' });
const dates = z.object({ start_date: momentText.optional(), end_date: momentText.optional() });
/** Without a range, the last 30 days. */
const daysDefault = 30;

export const usageCommand: Command = {
  run: async (rest, environment) => {
    const { values, positionals } = readArguments(rest, options, usage);
    if (positionals.length > 0) throw usageError(`${positionals.join(' ')} is not expected`, usage);
    const choices = { what: 'group', choices: installationGroups, usage };
    const group = choiceOf(values['group-by'] ?? '', choices);
    const asked = dates.safeParse({ start_date: values['start-date'], end_date: values['end-date'] });
    if (!asked.success) throw usageError(z.prettifyError(asked.error), usage);
    const range = reportRange(asked.data, Date.now(), daysDefault);
    const print = async ({ store }: Management): Promise<void> => {
      const groups = await new OperatorReports(store, Date.now).usage(range, group);
      const rows = groups.map((row) => [
        row.key,
        row.label,
        `${row.calls}`,
        `${row.input_tokens}`,
        `${row.output_tokens}`,
        `${row.cost}`,
      ]);
      const head = [group, 'name', 'calls', 'input tokens', 'output tokens', 'cost in USD'];
      process.stdout.write(`${table([head, ...rows])}\n`);
    };
    await withManagement(environment, print, { onlyReads: true });
  },
};
