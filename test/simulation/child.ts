// One process of `runMany`: takes its seeds as an argument and sends back its summary.
import { runRange, type Range } from './many.js';

const range: Range = JSON.parse(process.argv[2] ?? '{}');
const summary = await runRange(range);
process.send?.(summary, () => process.exit(0));
