// One process of `runQuotas`: takes its seeds as an argument and sends back its summary.
import type { Range } from './many.js';
import { runQuotaRange } from './quota-many.js';

const range: Range = JSON.parse(process.argv[2] ?? '{}');
const summary = await runQuotaRange(range);
process.send?.(summary, () => process.exit(0));
